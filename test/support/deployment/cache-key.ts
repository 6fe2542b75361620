import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';

/** The body of a request without the key that Precis gives each conversation for a prompt cache. */
export function withoutKey({ rawBody }: Pick<RecordedRequest, 'rawBody'>): string {
  return rawBody.toString().replace(/"prompt_cache_key":"[0-9a-f]{40}",/, '');
}
