/** Errors of upstreams, which have OpenAI's shape or one like it. */
import { asObject, type JsonObject, parseObject } from '../../lib/json.ts';
import type { StreamFault } from './answer-format.ts';

const UNSAID = 'The upstream sent an error without a message.';

/**
 * The error that a body or an event of an upstream holds: as a member, as a text, or as its own
 * fields. All that it says stays as it is; only what clients look for is added.
 *
 * @param words the message of an error that has none
 */
export function saidFault(said: JsonObject, words = UNSAID): StreamFault {
  const { error = said } = said;
  const fields = typeof error === 'string' ? { message: error } : asObject(error);
  // The type of an event is no type of an error.
  const { type = 'server_error' } = error === said ? {} : fields;
  const { message } = fields;
  return {
    param: null,
    code: null,
    ...fields,
    message: typeof message === 'string' ? message : words,
    type,
  } as StreamFault;
}

/** In characters, of the message of a body that is no error in any form. */
const LONGEST_WORDS = 500;

/** The error that the body of an answer reports, in the upstream's words. */
export function bodyFault(body: string, status: number): StreamFault {
  const words = body.trim().slice(0, LONGEST_WORDS);
  return saidFault(parseObject(body) ?? {}, words || `The upstream answered with status ${status}.`);
}
