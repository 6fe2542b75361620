/** The routes of a conversation's memory, for tests. */
import { expect } from 'vitest';
import type { Deployment } from './deployment.ts';

export interface Call {
  method?: string;
  path?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls `/v1/conversations/{id}/memory`. A string as the body is sent as it is. */
export function settingsOf(deployment: Deployment) {
  return (id: string, { method = 'GET', path = '/v1', body, headers = {} }: Call = {}): Promise<Response> =>
    deployment.fetch(`${path}/conversations/${encodeURIComponent(id)}/memory`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
}

export const statuses = (...responses: Response[]) => responses.map(({ status }) => status);

/** Sends one question, and returns the chosen mode and its source. */
export function choiceOf(deployment: Deployment) {
  return async ({ path = '/v1', body = {}, headers = {} }: Call): Promise<(string | null)[]> => {
    const response = await deployment.postTo(
      `${path}/chat/completions`,
      {
        model: 'gpt-4.1-mini',
        messages: [{ role: 'user', content: 'Hello' }],
        ...(body as object),
      },
      headers,
    );
    expect(response.status).toBe(200);
    return [response.headers.get('x-memory-mode'), response.headers.get('x-memory-source')];
  };
}
