/**
 * Compaction on demand: a request that asks for nothing but a summary of its messages, which the
 * API signs (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand).
 *
 * The block goes back as the bytes that came, as the first thing of `messages`.
 */
import { asObject, asString, type JsonObject } from '../../lib/json.ts';
import type { ShownSummary } from '../../memory/edits/shown-summary.ts';
import type { TokenUsage } from '../../memory/plan/report.ts';
import { levels, type Outline } from '../json/outline.ts';
import {
  fieldOf,
  jsonOf,
  memberSplices,
  scanObject,
  splice,
  spliceAll,
  textOf,
  topField,
  valueIn,
} from '../json/spans.ts';
import {
  type CompactionRange,
  MOST_MESSAGES,
  type ModelRequest,
  type OwnCompaction,
} from '../model-request.ts';
import { MARK_FIELD } from './block.ts';
import { countedUsage } from './usage.ts';

/** With the request for a block, and with each request that has one. */
const BETA = ['anthropic-beta', 'compact-2026-09-04'] as const;

/**
 * The answer's limit: the summary's, with the thinking before it. The page says to allow several
 * thousand tokens.
 */
const MOST_TOKENS = 25_000;

/** Settings of an answer, with which the API refuses a compaction, or which it has no use for. */
const OF_ANSWERS: ReadonlySet<string> = new Set([
  ...['stream', 'stop_sequences', 'output_format', 'diagnostics', 'context_management'],
]);

/**
 * How the API summarizes for a request. Undefined where the request rules it out: it compacts by
 * itself, asks for context editing or for a remaining budget, or has a block already.
 */
export function ownCompaction(request: ModelRequest): OwnCompaction | undefined {
  const { task_budget } = asObject(request.field('output_config'));
  const isRuledOut =
    (request.field('context_management') ?? null) !== null ||
    (asObject(task_budget).remaining ?? null) !== null ||
    request.isCompaction ||
    request.tooManyMessages ||
    request.compacted.length > 0;
  if (isRuledOut) return undefined;
  return { beta: BETA, path: '/messages', body: (range) => bodyOf(request, range) };
}

/**
 * What replaces the request of the turn, which stays in the view: a conversation begins with a user
 * message.
 */
const REQUEST_FOLLOWS =
  '[The request that the following work is about is not part of this summary. It follows the summary, word for word.]';

/**
 * The body that asks for a summary of some messages: with the model, the tools and the instructions
 * of the request, and without thinking, since what was before it has changed.
 */
function bodyOf(request: ModelRequest, { messages, before, tools }: CompactionRange): Uint8Array {
  const sent = new Set(messages);
  const first = request.messages.findIndex(({ role }) => role !== 'preamble');
  const dropped = new Set(
    request.messages.flatMap((_, index) => (index >= first && !sent.has(index) ? [index] : [])),
  );
  const opens = request.messages[messages[0] ?? -1]?.role === 'user';
  const summary = before ? writtenBefore(before) : opens ? undefined : alone(REQUEST_FOLLOWS);
  const view = { removals: new Map(), dropped, tokens: 0, incomplete: false };
  const body = request.write(
    { ...view, ...(summary ? { summary } : {}) },
    { tools, thinkingFrom: request.messages.length },
  );
  return asCompaction(withTrimmedEnd(body));
}

/** The messages, down to the fields of their blocks. */
const LAST: Outline = { items: levels(3), most: MOST_MESSAGES };

/** The API refuses a body whose last answer ends in white space, which an answer may do. */
export function withTrimmedEnd(body: Uint8Array): Uint8Array {
  const last = topField(body, 'messages', LAST)?.items?.at(-1);
  if (!last || valueIn(body, last, 'role') !== 'assistant') return body;
  const content = fieldOf(last, 'content');
  const block = content?.items?.at(-1);
  const text = content?.kind === 'string' ? content : block && fieldOf(block, 'text');
  if (text?.kind !== 'string') return body;
  const said = asString(jsonOf(body, text));
  const trimmed = said.trimEnd();
  if (trimmed === said || trimmed === '') return body;
  return spliceAll(body, [{ start: text.start, end: text.end, with: JSON.stringify(trimmed) }]);
}

function writtenBefore({ text, signed }: NonNullable<CompactionRange['before']>): ShownSummary {
  if (signed === undefined) return alone(text);
  return { block: text, covers: [0, 0], form: 'signed', signed, tokens: 0 };
}

function alone(block: string): ShownSummary {
  return { block, covers: [0, 0], form: 'alone', tokens: 0 };
}

/** A body for an answer as one for a compaction. */
function asCompaction(body: Uint8Array): Uint8Array {
  const root = scanObject(body, levels(1));
  if (!root) throw new Error('a view was written that cannot be read');
  const given = (key: string): JsonObject => asObject(valueIn(body, root, key));
  const { format, ...output } = given('output_config');
  const forces = ['any', 'tool'].includes(asString(given('tool_choice').type));
  // A budget of thinking wants an open round to begin with some, and this body has none.
  const budgets = given('thinking').type === 'enabled';
  const isCut = (key: string): boolean =>
    OF_ANSWERS.has(key) || (key === 'tool_choice' && forces) || (key === 'thinking' && budgets);
  const members = [
    { key: 'max_tokens', json: String(MOST_TOKENS) },
    ...(format === undefined ? [] : [{ key: 'output_config', json: JSON.stringify(output) }]),
    { key: 'compaction', json: '{"type":"summarize"}' },
  ];
  return splice(body, root, memberSplices(root, isCut, members));
}

const ANSWER: Outline = {
  fields: new Map<string, Outline>([['content', { items: {}, most: 16 }]]),
  others: {},
};

/** What an answer to a request for a compaction says. */
export interface CompactionAnswer {
  /** The summary, and the block that has it, in the API's bytes. Undefined if there is none. */
  readonly made?: { readonly text: string; readonly signed: string } | undefined;
  /** Why it ended. */
  readonly stopReason: string;
  readonly usage: Omit<TokenUsage, 'total_tokens' | 'cost'>;
}

/** @returns undefined if it is no message */
export function readCompaction(bytes: Uint8Array): CompactionAnswer | undefined {
  const root = scanObject(bytes, ANSWER);
  if (!root) return undefined;
  const blocks = fieldOf(root, 'content')?.items;
  if (!blocks) return undefined;
  const stopReason = asString(valueIn(bytes, root, 'stop_reason'));
  const [block] = blocks;
  const { type, content, signature } = asObject(block && jsonOf(bytes, block));
  const isMade =
    block !== undefined &&
    blocks.length === 1 &&
    stopReason === 'compaction' &&
    type === 'compaction' &&
    asString(content).trim() !== '' &&
    asString(signature) !== '';
  return {
    made: isMade ? { text: asString(content), signed: textOf(bytes, block) } : undefined,
    stopReason,
    usage: countedUsage(asObject(valueIn(bytes, root, 'usage'))),
  };
}

/** A message of one block with a mark of the prompt cache after it. */
export function markedBlock(message: string, mark: string): string {
  return `${message.slice(0, -'}]}'.length)},"${MARK_FIELD}":${mark}}]}`;
}
