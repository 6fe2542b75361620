/** The form of request ids. Anything else in that header could be a text. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The `x-request-id` of an answer; null without one. */
export function requestIdIn(headers: Headers): string | null {
  const id = headers.get('x-request-id');
  return id !== null && REQUEST_ID.test(id) ? id : null;
}
