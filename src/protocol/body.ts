/** Checks of a body that don't depend on its wire format. */

import type { Result } from '../lib/result.ts';
import { nearest } from '../memory/strategy/hint.ts';
import type { JsonSpan, Outline } from './json/outline.ts';
import { JsonSyntaxError, type KnownElements } from './json/scanner.ts';
import { scanJson } from './json/spans.ts';

/**
 * Why a body can't be read: the error's code (docs/answers-and-errors.md#errors), the field at
 * fault, and what would be right.
 */
export interface BodyFault {
  readonly code: 'invalid_json' | 'invalid_value' | 'invalid_messages';
  readonly param: string | null;
  readonly message: string;
}

/** A body without a conversation. */
export function invalidMessages(param: string, message: string): { ok: false; reason: BodyFault } {
  return { ok: false, reason: { code: 'invalid_messages', param, message } };
}

/** OpenAI's own bodies have a few dozen fields. */
const MOST_FIELDS = 1_000;

/** Decoded values may be walked and written recursively. A tool's schema has a dozen levels. */
const MOST_LEVELS = 500;

/**
 * A decoded value takes up to a hundred bytes of memory, and a single byte of a body can be a
 * value. 20,000 messages with calls and results have half as many.
 */
const MOST_VALUES = 300_000;

const LIMITS = { levels: MOST_LEVELS, values: MOST_VALUES };

/**
 * Scans a body, which must be a JSON object without duplicate top-level keys: nobody can know which
 * of two `messages` an upstream reads.
 *
 * @param outline which fields to keep in more detail than their position
 * @param known elements of the conversation that an earlier request began with
 */
export function scanBody(
  bytes: Uint8Array,
  outline: ReadonlyMap<string, Outline>,
  known?: KnownElements,
): Result<JsonSpan, BodyFault> {
  const fault = (param: string | null, message: string): { ok: false; reason: BodyFault } => ({
    ok: false,
    reason: { code: 'invalid_json', param, message },
  });
  let root: JsonSpan;
  try {
    root = scanJson(bytes, { fields: outline, others: {}, most: MOST_FIELDS }, LIMITS, known);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return fault(null, `The request body is ${error.message}; it must be a JSON object in UTF-8.`);
  }
  if (root.kind !== 'object') return fault(null, 'The request body must be a JSON object.');
  if (!root.fields) return fault(null, `The request body has more than ${MOST_FIELDS} top-level fields.`);
  const keys = new Set<string>();
  for (const { key } of root.fields) {
    if (keys.has(key)) return fault(key, `The request body has the field '${key}' twice; send it once.`);
    const meant = meantField(key);
    if (meant !== undefined) return { ok: false, reason: misspelled(key, meant) };
    keys.add(key);
  }
  return { ok: true, value: root };
}

/** The known field that an unknown `memory_…` field is probably meant to be. */
function meantField(key: string): string | undefined {
  if (!key.startsWith('memory_') || isOwnField(key)) return undefined;
  return nearest(key.slice(0, LONGEST_FIELD), [...OWN_FIELDS, ...HEADERS]);
}

function misspelled(key: string, meant: string): BodyFault {
  const is = isOwnField(meant)
    ? `the nearest one is '${meant}'`
    : `the header x-${meant.replaceAll('_', '-')} is`;
  return { code: 'invalid_value', param: key, message: `'${key}' is not a field of Precis; ${is}.` };
}

/** Headers whose names look like fields. */
const HEADERS = ['memory_user', 'memory_observe', 'memory_stream_errors'];
/** In characters. */
const LONGEST_FIELD = 64;

/**
 * Precis's own fields. They are read here and cut out before the body goes upstream
 * (docs/strategy-reference.md#beside-the-strategy).
 */
export const OWN_FIELDS = [
  'memory_strategy',
  'memory_injection',
  'memory_blocks',
  'memory_report',
  'memory_summary',
  'conversation_id',
  'agent_type',
] as const;

export type OwnField = (typeof OWN_FIELDS)[number];

export function isOwnField(key: string): key is OwnField {
  return (OWN_FIELDS as readonly string[]).includes(key);
}
