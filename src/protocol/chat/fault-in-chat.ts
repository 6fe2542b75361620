/** Errors about a body that was written for a caller of chat, over an API with other names. */
import type { AnswerFault } from '../answers/answer-format.ts';

/** Members of the other APIs' bodies that have another name in chat. */
const NAMES: readonly (readonly [of: RegExp, inChat: string])[] = [
  [/^(?:input|messages|system|prompt is too long)\b.*/, 'messages'],
  [/^tools[[.](\d+).*/, 'tools[$1]'],
  [/^(?:reasoning|output_config)\.effort$/, 'reasoning_effort'],
  [/^text\.verbosity$/, 'verbosity'],
  [/^(?:text|output_config)\.format\b.*/, 'response_format'],
  [/^stop_sequences\b.*/, 'stop'],
];

/**
 * An error with the caller's name of what it is about, as far as the upstream names that.
 *
 * @param limit what the caller calls the limit of the answer
 */
export function faultInChat({ param, code, ...fault }: AnswerFault, limit: string): AnswerFault {
  const said = param ?? /^[\w.]+(?=: )|^prompt is too long/.exec(fault.message)?.[0] ?? '';
  const names = [...NAMES, [/^max_(?:output_)?tokens$/, limit] as const];
  const [of, name = ''] = names.find(([of]) => of.test(said)) ?? [];
  const isTooLong = said.startsWith('prompt');
  return {
    ...fault,
    param: of ? said.replace(of, name) : param,
    code: isTooLong ? 'context_length_exceeded' : code,
  };
}
