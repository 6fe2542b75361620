/** The array of a request, from the archived messages of its conversation. */
import type { RunEvent } from '../api/answers.ts';

/** The array of a request, in the field of its protocol. */
export interface RequestArray {
  readonly field: 'messages' | 'input';
  readonly messages: readonly unknown[];
  /** Of Anthropic's Messages alone. */
  readonly system?: readonly unknown[];
}

/** The request's array, if all of it is archived. */
export function wholeArray(
  archived: readonly unknown[],
  { messages, protocol }: Pick<RunEvent, 'messages' | 'protocol'>,
): RequestArray | undefined {
  for (let index = 0; index < messages; index++) if (archived[index] === undefined) return undefined;
  if (protocol === 'messages') return withSystem(archived);
  // A message of the Responses API may consist of several items.
  return protocol === 'responses'
    ? { field: 'input', messages: archived.flat() }
    : { field: 'messages', messages: archived };
}

/** The entries of `system` are archived as messages, before all others. */
function withSystem(archived: readonly unknown[]): RequestArray {
  const messages = archived as readonly { readonly role?: string; readonly content?: unknown }[];
  const found = messages.findIndex(({ role }) => role !== 'system');
  const first = found < 0 ? messages.length : found;
  const system = messages
    .slice(0, first)
    .flatMap(({ content }) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
  return { field: 'messages', system, messages: messages.slice(first) };
}
