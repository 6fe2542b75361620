/**
 * The body of `PUT /v1/conversations/{id}/memory`: the answer of `GET`, of which the settings and
 * the newest text are kept. All else of a conversation moves as a backup of one.
 */
import { Buffer } from 'node:buffer';
import * as z from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { once } from '../../lib/once.ts';
import type { Result } from '../../lib/result.ts';
import { count, seconds } from '../../memory/shapes.ts';
import {
  DIGEST_MODEL,
  LISTED,
  type ListedMemory,
  LONGEST_TEXT_BYTES,
  type Settings,
} from '../../storage/conversation/memories.ts';
import { versionSchema } from '../../storage/conversation/memory-schema.ts';
import { neutralize } from '../../summary/text/headings.ts';

/** What is wrong with a body. */
interface OverviewFault {
  /** The path of the member, such as `memories[3].prefix_hash`. */
  readonly param: string;
  /** What would be right. */
  readonly message: string;
}

interface SentOverview {
  readonly settings: Settings;
  /** The version with the newest text, its times in milliseconds; null if there is none. */
  readonly memory: ListedMemory | null;
}

/** SQLite counts on from the largest id, within the numbers that JSON can represent. */
const LARGEST_ID = 2 ** 31 - 1;
/** The last time of a JavaScript date, in milliseconds. */
const LAST_TIME = 8_640_000_000_000_000;
/** In characters. Far more than any model's name has. */
const LONGEST_MODEL = 1_000;
/** The most of an unknown member's name in an error, in characters. */
const LONGEST_NAME = 64;

const IGNORED = z.unknown().optional();

export const sentOverviewSchema = once(() =>
  z.strictObject({
    memory_strategy: z.unknown(),
    memory_injection: z.unknown(),
    memories: z.array(versionSchema),
    id: z.string().optional(),
    object: IGNORED,
    health: IGNORED,
    conversation_memory: IGNORED,
    rounds: IGNORED,
    stats: IGNORED,
    stuck: IGNORED,
    up_to_date: IGNORED,
  }),
);

/** A version whose text is kept. */
const textSchema = once(() =>
  versionSchema.extend({
    memory_id: z.int().min(1).max(LARGEST_ID),
    // As in a summary that a request brings: nothing in it may end its block in the view.
    memory_text: z
      .string()
      .min(1)
      .overwrite(neutralize)
      .refine((text) => Buffer.byteLength(text) <= LONGEST_TEXT_BYTES),
    tokens: count,
    model: z.string().min(1).max(LONGEST_MODEL),
    error: z.null(),
    completed_at: seconds,
    completed_at_ms: count.max(LAST_TIME),
    generation_time_ms: count,
  }),
);

/**
 * Reads a body.
 *
 * @param id of the conversation in the path
 */
export function readOverview(body: JsonObject, id: string): Result<SentOverview, OverviewFault> {
  for (const setting of ['memory_strategy', 'memory_injection'])
    if (!(setting in body)) return wrong(setting, 'is missing: send it, or null');
  const listed: unknown = body.memories;
  // Before the elements are checked, since each of their faults takes memory.
  if (Array.isArray(listed) && listed.length > LISTED)
    return wrong('memories', `has more than ${LISTED} versions`);
  const parsed = sentOverviewSchema().safeParse(body);
  if (!parsed.success) return faultOf(parsed.error);
  const { memory_strategy, memory_injection, memories } = parsed.data;
  if (parsed.data.id !== undefined && parsed.data.id !== id)
    return wrong('id', `must be the conversation of the path, '${id}', or left out`);
  const settings = { memory_strategy, memory_injection };
  const newest = memories.filter(({ status }) => status === 'completed').toSorted(byTime)[0];
  if (!newest) return { ok: true, value: { settings, memory: null } };
  const text = textSchema().safeParse(newest);
  if (!text.success) return faultOf(text.error, ['memories', memories.indexOf(newest)]);
  const { completed_at_ms: completed, created_at, ...memory } = text.data;
  return {
    ok: true,
    value: { settings, memory: { ...memory, created_at: created_at * 1000, completed_at: completed } },
  };
}

type Version = z.output<typeof versionSchema>;

/** Newest first; digests by code last, since no summary builds on them. */
function byTime(one: Version, other: Version): number {
  const isDigest = ({ model }: Version) => Number(model === DIGEST_MODEL);
  return (
    isDigest(one) - isDigest(other) ||
    (other.completed_at_ms ?? 0) - (one.completed_at_ms ?? 0) ||
    other.covers_end - one.covers_end ||
    other.memory_id - one.memory_id
  );
}

function wrong(param: string, what: string): { readonly ok: false; readonly reason: OverviewFault } {
  return { ok: false, reason: { param, message: `${param} ${what}.` } };
}

/** The first fault of a member. @param at the path of what was read */
function faultOf({ issues }: z.ZodError, at: readonly PropertyKey[] = []) {
  const [issue] = issues;
  const unknown = issue?.code === 'unrecognized_keys' ? [(issue.keys[0] ?? '').slice(0, LONGEST_NAME)] : [];
  const path = [...at, ...(issue?.path ?? []), ...unknown];
  const param = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  const what =
    unknown.length > 0 ? 'is no member of an answer of `GET`: leave it out' : 'must be as `GET` has it';
  return wrong(param.slice(1), what);
}
