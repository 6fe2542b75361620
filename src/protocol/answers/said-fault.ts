/** Errors of upstreams, which have OpenAI's shape or one like it. */
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { StreamFault } from './answer-format.ts';

const UNSAID = { message: 'The upstream has sent an error without words.', type: 'server_error' };

/**
 * The error that a body or an event of an upstream holds: as a member, as a text, or as its own
 * fields. All that it says stays as it is; only what clients look for is added.
 */
export function saidFault(said: JsonObject): StreamFault {
  const { error = said } = said;
  const fields = typeof error === 'string' ? { message: error } : asObject(error);
  // The type of an event is no type of an error.
  const { type = UNSAID.type } = error === said ? {} : fields;
  return { param: null, code: null, ...UNSAID, ...fields, type } as StreamFault;
}
