/** The routes of a conversation's memory, as tests call them. */
import type { Deployment } from './deployment.ts';

export interface Call {
  method?: string;
  path?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls `/v1/conversations/{id}/memory`; a body that is a string goes as it is. */
export function settingsOf(deployment: Deployment) {
  return (id: string, { method = 'GET', path = '/v1', body, headers = {} }: Call = {}): Promise<Response> =>
    deployment.fetch(`${path}/conversations/${encodeURIComponent(id)}/memory`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
}

export const statuses = (...responses: Response[]) => responses.map(({ status }) => status);
