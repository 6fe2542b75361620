/**
 * The body of `PUT /v1/conversations/{id}/memory`: exactly the members of the answer of `GET`. What
 * follows from other members is accepted and made anew.
 */
import { Buffer } from 'node:buffer';
import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import type { Result } from '../../lib/result.ts';
import { secondsOf } from '../../lib/seconds.ts';
import { REF_PATTERN } from '../../memory/edits/placeholder.ts';
import { LISTED, LONGEST_TEXT_BYTES } from '../../storage/conversation/memories.ts';
import { neutralize } from '../../summary/text/headings.ts';

/** What is wrong with a body. */
export interface OverviewFault {
  /** The path of the member, such as `memories[3].prefix_hash`. */
  readonly param: string;
  /** What would be right. */
  readonly message: string;
}

/** SQLite counts on from the largest id, within the numbers that JSON can represent. */
const LARGEST_ID = 2 ** 31 - 1;
/** The last time of a JavaScript date, in milliseconds. */
const LAST_TIME = 8_640_000_000_000_000;
/**
 * Times from here on are in milliseconds, as versions before 0.7.0 gave them. In seconds it is the
 * year 5138, in milliseconds 1973.
 */
const IN_MILLISECONDS = 100_000_000_000;
/** In characters. Far more than any model's name has. */
const LONGEST_MODEL = 1_000;
/** The most of an unknown member's name in an error, in characters. */
const LONGEST_NAME = 64;

const count = z.int().nonnegative();
/** In seconds on the wire, in milliseconds inside. */
const time = count.max(LAST_TIME).overwrite((at) => (at < IN_MILLISECONDS ? at * 1000 : at));
const sequence = z.int().min(-1);
const memoryId = z.int().min(1).max(LARGEST_ID);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const ref = z.string().regex(REF_PATTERN);
const nothing = z.literal('');

const memorySchema = z.strictObject({
  memory_id: memoryId,
  base_memory_id: memoryId.nullable(),
  prefix_hash: hash,
  strategy_hash: hash,
  start_sequence: count,
  end_sequence: sequence,
  base_end_seq: sequence.nullable(),
  window_size: count.nullable(),
  covers_end: count,
  status: z.enum(['processing', 'completed', 'failed']),
  // As in a summary that a request brings: nothing in it may end its block in the view.
  memory_text: z
    .string()
    .min(1)
    .overwrite(neutralize)
    .refine((text) => Buffer.byteLength(text) <= LONGEST_TEXT_BYTES)
    .nullable(),
  ref: ref.nullable(),
  tokens: count.nullable(),
  model: z.string().min(1).max(LONGEST_MODEL).nullable(),
  attempts: count.min(1),
  error: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/)
    .nullable(),
  created_at: time,
  completed_at: time.nullable(),
  completed_at_ms: count.max(LAST_TIME).nullable().optional(),
  generation_time_ms: count.nullable(),
  transcript_from: z.union([nothing, hash]),
  transcript_earlier: ref.nullable(),
});

const roundSchema = z.strictObject({
  round_hash: hash,
  strategy_hash: hash,
  memory_id: memoryId.nullable(),
  digest_hash: z.union([nothing, hash]).nullable(),
});

const statsSchema = z.strictObject({
  avg_ms: count.nullable(),
  max_ms: count.nullable(),
  total_summaries: count,
});

/** The members of a body, each by itself. */
export const overviewSchema = z.strictObject({
  memory_strategy: z.unknown(),
  memory_injection: z.unknown(),
  health: z.enum(['healthy', 'retry', 'degraded', 'recovering']),
  memories: z.array(memorySchema),
  rounds: z.array(roundSchema),
  id: z.string().optional(),
  object: z.literal('memory.conversation').optional(),
  conversation_memory: z.string().nullable().optional(),
  stats: statsSchema.optional(),
  stuck: z.boolean().optional(),
  up_to_date: z.boolean().optional(),
});

/** A version, with its times in milliseconds. */
export type SentMemory = Omit<z.output<typeof memorySchema>, 'completed_at_ms'>;
type ReadOverview = z.output<typeof overviewSchema>;
type SentOverview = Omit<ReadOverview, 'memories'> & { readonly memories: readonly SentMemory[] };

const HASH = 'a SHA-256 of 64 hexadecimal digits in lower case';
const ID = `an integer from 1 to ${LARGEST_ID}`;
const SEQUENCE = 'an integer from -1';
const COUNT = 'an integer from 0';
const TIME = 'a time in seconds since 1970, an integer from 0';
const REF = 'ref_ and 26 characters of a to z and 2 to 7';

/** What each member must be. */
const EXPECTED: Readonly<Record<string, string>> = {
  memory_id: ID,
  base_memory_id: `${ID}, or null`,
  prefix_hash: HASH,
  strategy_hash: HASH,
  round_hash: HASH,
  digest_hash: `${HASH}, empty, or null`,
  start_sequence: COUNT,
  end_sequence: SEQUENCE,
  base_end_seq: `${SEQUENCE}, or null`,
  window_size: `${COUNT}, or null`,
  covers_end: COUNT,
  status: "'processing', 'completed' or 'failed'",
  memory_text: `a text of 1 to ${LONGEST_TEXT_BYTES} bytes, or null`,
  ref: `${REF}, or null`,
  tokens: `${COUNT}, or null`,
  model: `a text of 1 to ${LONGEST_MODEL} characters, or null`,
  attempts: 'an integer from 1',
  error: 'a code of up to 64 lower-case letters, digits and underscores, or null',
  created_at: TIME,
  completed_at: `${TIME}, or null`,
  completed_at_ms: 'completed_at in milliseconds, or left out',
  generation_time_ms: `${COUNT}, or null`,
  transcript_from: `${HASH}, or empty`,
  transcript_earlier: `${REF}, or null`,
  health: "'healthy', 'retry', 'degraded' or 'recovering'",
  memories: `a list of at most ${LISTED} versions`,
  rounds: `a list of at most ${LISTED} rounds`,
  id: 'a text',
  object: "'memory.conversation'",
  conversation_memory: 'a text, or null',
  stats: 'an object of avg_ms, max_ms and total_summaries',
  avg_ms: `${COUNT}, or null`,
  max_ms: `${COUNT}, or null`,
  total_summaries: COUNT,
  stuck: 'true or false',
  up_to_date: 'true or false',
};

/** Members of a version that it has exactly if it is completed. */
const OF_COMPLETED = ['memory_text', 'tokens', 'model', 'completed_at', 'generation_time_ms'] as const;

/**
 * Reads a body.
 *
 * @param id of the conversation in the path
 */
export function readOverview(body: JsonObject, id: string): Result<SentOverview, OverviewFault> {
  for (const setting of ['memory_strategy', 'memory_injection'])
    if (!(setting in body)) return wrong(setting, 'is missing: it must be there, or null');
  // Before the elements are checked, since each of their faults takes memory.
  for (const list of ['memories', 'rounds'] as const) {
    const elements: unknown = body[list];
    if (Array.isArray(elements) && elements.length > LISTED) return wrong(list, `must be ${EXPECTED[list]}`);
  }
  const parsed = overviewSchema.safeParse(body);
  if (!parsed.success) return { ok: false, reason: describe(parsed.error.issues[0]) };
  const overview = parsed.data;
  if (overview.id !== undefined && overview.id !== id)
    return wrong('id', `must be the conversation of the path, '${id}', or left out`);
  return faultIn(overview) ?? { ok: true, value: { ...overview, memories: overview.memories.map(exact) } };
}

type Fault = { readonly ok: false; readonly reason: OverviewFault };

function wrong(param: string, what: string): Fault {
  return { ok: false, reason: { param, message: `${param} ${what}.` } };
}

/** With the time of completion in milliseconds, where they were sent. */
function exact({ completed_at_ms: exactly, ...memory }: ReadOverview['memories'][number]): SentMemory {
  return { ...memory, completed_at: exactly ?? memory.completed_at };
}

/** Faults that no member has by itself. */
function faultIn({ memories, rounds }: ReadOverview): Fault | undefined {
  const byId = new Map(memories.map((memory) => [memory.memory_id, memory]));
  const newest = Math.max(0, ...byId.keys());
  /** Versions that are not listed are older, and gone. */
  const isVersion = (memoryId: number): boolean =>
    byId.get(memoryId)?.status === 'completed' || (!byId.has(memoryId) && memoryId < newest);
  for (const [index, memory] of memories.entries()) {
    const at = `memories[${index}]`;
    if (byId.get(memory.memory_id) !== memory) return wrong(`${at}.memory_id`, 'must occur once');
    const fault = faultInMemory(memory, at, isVersion);
    if (fault) return fault;
  }
  const seen = new Set<string>();
  for (const [index, { round_hash, strategy_hash, memory_id }] of rounds.entries()) {
    const at = `rounds[${index}]`;
    const key = `${round_hash} ${strategy_hash}`;
    if (seen.has(key)) return wrong(`${at}.round_hash`, 'must occur once with this strategy_hash');
    seen.add(key);
    if (memory_id !== null && !isVersion(memory_id)) return wrong(`${at}.memory_id`, NAMES_VERSION);
  }
  return undefined;
}

const NAMES_VERSION = 'must name a completed version in memories, one that is older than these, or be null';

function faultInMemory(
  memory: ReadOverview['memories'][number],
  at: string,
  isVersion: (memoryId: number) => boolean,
): Fault | undefined {
  const { memory_id, base_memory_id, base_end_seq, status, error, ref, transcript_earlier } = memory;
  const isCompleted = status === 'completed';
  for (const name of OF_COMPLETED)
    if ((memory[name] !== null) !== isCompleted)
      return wrong(
        `${at}.${name}`,
        isCompleted
          ? `must be ${EXPECTED[name]?.replace(', or null', '')} in a completed version`
          : MUST_BE_NULL,
      );
  const { completed_at: completed, completed_at_ms: exactly } = memory;
  if (exactly != null && (completed === null || secondsOf(exactly) !== secondsOf(completed)))
    return wrong(`${at}.completed_at_ms`, `must be ${EXPECTED.completed_at_ms}`);
  if (isCompleted && error !== null) return wrong(`${at}.error`, 'must be null in a completed version');
  if (status === 'failed' && error === null)
    return wrong(`${at}.error`, 'must be a code in a failed version');
  if (!isCompleted && ref !== null) return wrong(`${at}.ref`, MUST_BE_NULL);
  if (ref === null && transcript_earlier !== null)
    return wrong(`${at}.transcript_earlier`, 'must be null without a ref');
  if (base_memory_id === null) {
    if (base_end_seq !== null) return wrong(`${at}.base_end_seq`, 'must be null without a base_memory_id');
  } else if (base_memory_id === memory_id || !isVersion(base_memory_id))
    return wrong(`${at}.base_memory_id`, `${NAMES_VERSION}, and not the version itself`);
  return undefined;
}

const MUST_BE_NULL = 'must be null in a version that is not completed';

/** The first fault of a member by itself. */
function describe(issue: z.core.$ZodIssue | undefined): OverviewFault {
  const path = issue?.path ?? [];
  if (issue?.code === 'unrecognized_keys') {
    const param = pathOf([...path, (issue.keys[0] ?? '').slice(0, LONGEST_NAME)]);
    return wrong(param, `is not a member of ${path.length === 0 ? "GET's answer" : pathOf(path)}`).reason;
  }
  const param = pathOf(path);
  const member = path.findLast((key) => typeof key === 'string') ?? '';
  const isElement = typeof path.at(-1) === 'number';
  return wrong(param, `must be ${isElement ? `an object, as in GET's answer` : EXPECTED[member]}`).reason;
}

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .slice(1);
}
