/**
 * The body of `PUT /v1/conversations/{id}/memory`: exactly the members of the answer of `GET`. What
 * follows from other members is accepted and made anew.
 */
import { Buffer } from 'node:buffer';
import * as z from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { once } from '../../lib/once.ts';
import type { Result } from '../../lib/result.ts';
import { secondsOf } from '../../lib/seconds.ts';
import { count, hash, refName } from '../../memory/shapes.ts';
import { LISTED, LONGEST_TEXT_BYTES } from '../../storage/conversation/memories.ts';
import { overviewSchema, roundSchema, versionSchema } from '../../storage/conversation/memory-schema.ts';
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

const EXACTLY = 'completed_at in milliseconds, or left out';

/** What a member must be, where its type does not say it. */
const MEANINGS = z.registry<{ readonly expected: string }>();

/** The members of a body, each by itself. */
export const sentOverviewSchema = once(() => {
  MEANINGS.add(hash, { expected: 'a SHA-256 of 64 hexadecimal digits in lower case' });
  MEANINGS.add(refName, { expected: 'ref_ and 26 characters of a to z and 2 to 7' });
  const memoryId = z.int().min(1).max(LARGEST_ID);
  /** In seconds on the wire, in milliseconds inside. */
  const time = count
    .max(LAST_TIME)
    .overwrite((at) => (at < IN_MILLISECONDS ? at * 1000 : at))
    .register(MEANINGS, { expected: 'a time in seconds since 1970, an integer from 0' });
  const memory = versionSchema.extend({
    memory_id: memoryId,
    base_memory_id: memoryId.nullable(),
    // As in a summary that a request brings: nothing in it may end its block in the view.
    memory_text: z
      .string()
      .min(1)
      .overwrite(neutralize)
      .refine((text) => Buffer.byteLength(text) <= LONGEST_TEXT_BYTES)
      .register(MEANINGS, { expected: `a text of 1 to ${LONGEST_TEXT_BYTES} bytes` })
      .nullable(),
    model: z
      .string()
      .min(1)
      .max(LONGEST_MODEL)
      .register(MEANINGS, { expected: `a text of 1 to ${LONGEST_MODEL} characters` })
      .nullable(),
    attempts: count.min(1),
    error: z
      .string()
      .regex(/^[a-z0-9_]{1,64}$/)
      .register(MEANINGS, { expected: 'a code of up to 64 lower-case letters, digits and underscores' })
      .nullable(),
    created_at: time,
    completed_at: time.nullable(),
    completed_at_ms: count.max(LAST_TIME).nullable().optional().register(MEANINGS, { expected: EXACTLY }),
  });
  const round = roundSchema.extend({ memory_id: memoryId.nullable() });
  const { health, conversation_memory, stats, stuck } = overviewSchema.shape;
  return z.strictObject({
    memory_strategy: z.unknown(),
    memory_injection: z.unknown(),
    health,
    memories: z.array(memory).register(MEANINGS, { expected: `a list of at most ${LISTED} versions` }),
    rounds: z.array(round).register(MEANINGS, { expected: `a list of at most ${LISTED} rounds` }),
    id: z.string().optional(),
    object: z.literal('memory.conversation').optional(),
    conversation_memory: conversation_memory.optional(),
    stats: stats.optional(),
    stuck: stuck.optional(),
    up_to_date: z.boolean().optional(),
  });
});

type ReadOverview = z.output<ReturnType<typeof sentOverviewSchema>>;
/** A version, with its times in milliseconds. */
export type SentMemory = Omit<ReadOverview['memories'][number], 'completed_at_ms'>;
type SentOverview = Omit<ReadOverview, 'memories'> & { readonly memories: readonly SentMemory[] };

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
    if (Array.isArray(elements) && elements.length > LISTED)
      return wrong(list, `must be ${expectedAt([list])}`);
  }
  const parsed = sentOverviewSchema().safeParse(body);
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
          ? `must be ${expectedAt(['memories', 0, name]).replace(', or null', '')} in a completed version`
          : MUST_BE_NULL,
      );
  const { completed_at: completed, completed_at_ms: exactly } = memory;
  if (exactly != null && (completed === null || secondsOf(exactly) !== secondsOf(completed)))
    return wrong(`${at}.completed_at_ms`, `must be ${EXACTLY}`);
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
  const isElement = typeof path.at(-1) === 'number';
  return wrong(param, `must be ${isElement ? `an object, as in GET's answer` : expectedAt(path)}`).reason;
}

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .slice(1);
}

/** What the member at a path of the body must be. */
function expectedAt(path: readonly PropertyKey[]): string {
  let schema: z.core.$ZodType | undefined = sentOverviewSchema();
  for (const key of path) {
    if (schema instanceof z.ZodOptional) schema = schema.unwrap();
    if (schema instanceof z.ZodArray) schema = schema.element;
    else if (schema instanceof z.ZodObject) schema = schema.shape[String(key)];
  }
  return listed(alternatives(schema), ', or ');
}

/** What a value of a schema may be, in words. */
function alternatives(schema: z.core.$ZodType | undefined): string[] {
  const known = schema && MEANINGS.get(schema)?.expected;
  if (known !== undefined) return [known];
  if (schema instanceof z.ZodOptional) return alternatives(schema.unwrap());
  if (schema instanceof z.ZodNullable) return [...alternatives(schema.unwrap()), 'null'];
  // An exception stands first in a schema, and last in a sentence.
  if (schema instanceof z.ZodUnion) return schema.options.toReversed().flatMap(alternatives);
  if (schema instanceof z.ZodLiteral) return [schema.value === '' ? 'empty' : `'${schema.value}'`];
  if (schema instanceof z.ZodEnum)
    return [
      listed(
        schema.options.map((code) => `'${code}'`),
        ' or ',
      ),
    ];
  if (schema instanceof z.ZodBoolean) return ['true or false'];
  if (schema instanceof z.ZodObject) return [`an object of ${listed(Object.keys(schema.shape), ' and ')}`];
  if (!(schema instanceof z.ZodNumber)) return ['a text'];
  const { minValue, maxValue } = schema;
  return [`an integer from ${minValue}${maxValue === Number.MAX_SAFE_INTEGER ? '' : ` to ${maxValue}`}`];
}

function listed(words: readonly string[], before: string): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')}${before}${words.at(-1)}`;
}
