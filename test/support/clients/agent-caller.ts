/** An agent that uses the `openai` client, and checks of the views of its requests. */
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import type { Report } from '../../../src/memory/plan/report.ts';
import { toolTokens } from '../../../src/memory/tokens/tokens.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { type Deployment, KEY } from '../deployment/deployment.ts';
import { collect } from '../deployment/event-stream.ts';
import type { WithMemory } from '../deployment/memory-report.ts';
import { counter } from '../laws/view-of.ts';
import { type Message, tools } from './agent-run.ts';

/** The overhead of the answer. */
const ANSWER_TOKENS = 3;

/** One request as its caller made it, with its results. */
export interface Sent {
  /** The caller's array. */
  readonly messages: readonly Message[];
  readonly memory: Report;
  readonly headers: Headers;
  /** The model's text. */
  readonly answer: string;
  readonly seen: RecordedRequest;
  /** The messages that went upstream. */
  readonly view: Message[];
}

/**
 * A caller with its own strategy and fields; it has the tools of `agent-run.ts`. The model fetches
 * nothing, unless the strategy allows it.
 */
export class AgentCaller {
  private readonly deployment: Deployment;
  private readonly fields: object;
  private readonly apiKey: string;

  /** @param fields of each body; `stream: true` makes all answers streams */
  constructor(deployment: Deployment, fields: object, apiKey = KEY) {
    this.deployment = deployment;
    this.fields = fields;
    this.apiKey = apiKey;
  }

  /** @throws the client's error for any status but 200 */
  async send(messages: readonly Message[], more: object = {}): Promise<Sent> {
    const given = { model: 'gpt-4.1', tools, memory_report: true, ...this.fields, ...more, messages };
    const params = { ...given, ...withoutRetrieval(given) };
    const client = this.deployment.client({ apiKey: this.apiKey });
    const { data, response } = await client.chat.completions
      .create(params as unknown as ChatCompletionCreateParams)
      .withResponse();
    const { memory, answer } =
      Symbol.asyncIterator in data ? joined(await collect(data)) : said(data as Completion & WithMemory);
    if (!memory) throw new Error('the answer has no report');
    const seen = this.deployment.lastChat();
    return { messages, memory, headers: response.headers, answer, seen, view: seen.body.messages };
  }

  /** Sends the array as it grows. @param lengths the number of messages in each request */
  async play(messages: readonly Message[], lengths: readonly number[]): Promise<Sent[]> {
    const all: Sent[] = [];
    for (const length of lengths) all.push(await this.send(messages.slice(0, length)));
    return all;
  }
}

interface Given {
  readonly memory_strategy?: { readonly mode?: string } | string;
  readonly [field: string]: unknown;
}

function withoutRetrieval({ memory_strategy: strategy }: Given): Given {
  if (typeof strategy !== 'object' || !['auto', 'compact'].includes(strategy.mode ?? '')) return {};
  return { memory_strategy: { compact_retrieval: 'off', ...strategy } as Given['memory_strategy'] & object };
}

interface Completion {
  readonly choices: readonly { readonly message?: { readonly content?: string | null } }[];
}

interface Chunk extends WithMemory {
  readonly choices: readonly { readonly delta?: { readonly content?: string | null } }[];
}

function said({ choices, memory }: Completion & WithMemory): { memory: Report | undefined; answer: string } {
  return { memory, answer: choices[0]?.message?.content ?? '' };
}

function joined(chunks: readonly Chunk[]): { memory: Report | undefined; answer: string } {
  const answer = chunks.map(({ choices }) => choices[0]?.delta?.content ?? '').join('');
  return { memory: chunks.find(({ memory }) => memory)?.memory, answer };
}

/** Tokens of a text, by the Worker's counter. */
export const textTokens = (text: string): number => counter.text(text);

/** Tokens of a body, by the Worker's counter. */
export function tokensOf(body: object): number {
  const read = readChatRequest(new TextEncoder().encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  const { messages, tools } = read.value;
  const all = messages.reduce((sum, message) => sum + counter.message(message), 0);
  return ANSWER_TOKENS + toolTokens(tools, counter) + all;
}

/**
 * Violations of the prefix law: a view extends the previous one, unless the frontier moved.
 *
 * @param textOf what of a body is compared; by default all of it
 */
export function brokenPrefixes(
  all: readonly Sent[],
  textOf = ({ rawBody }: Sent['seen']): string => rawBody.toString(),
): string[] {
  return all.slice(1).flatMap((sent, at) => {
    if (sent.headers.get('x-memory-frontier') === 'moved') return [];
    const before = all[at];
    const former = before ? textOf(before.seen).slice(0, -2) : '';
    // The messages come last in the body.
    return textOf(sent.seen).startsWith(former)
      ? []
      : [`the view of ${sent.messages.length} messages does not begin with the one before`];
  });
}

const MARKER =
  /⟦removed: (?:(tool output|tool input|image|file) for ([\w.:-]+) \(call_id=([\w.:-]+)\)|observation); reason=(\w+); ref=(ref_[a-z2-7]{26})(?:; tokens=(\d+))?⟧/g;

/** A placeholder in a view. */
export interface SeenMarker {
  readonly kind: string;
  readonly tool: string;
  readonly call: string;
  readonly reason: string;
  readonly ref: string;
  readonly tokens: number | undefined;
}

function isOutput(kind: string): boolean {
  return kind === 'tool output' || kind === 'observation';
}

/** The placeholders in a text or in messages, in order. */
export function markersIn(view: unknown): SeenMarker[] {
  const text = typeof view === 'string' ? view : JSON.stringify(view);
  return [...text.matchAll(MARKER)].map(
    ([, kind = 'observation', tool = '', call = '', reason = '', ref = '', tokens]) => ({
      kind,
      tool,
      call,
      reason,
      ref,
      tokens: tokens === undefined ? undefined : Number(tokens),
    }),
  );
}

/** All refs in messages, also of summaries and trimmed messages. */
export function refsIn(view: unknown): string[] {
  return [...new Set(JSON.stringify(view).match(/ref_[a-z2-7]{26}/g) ?? [])];
}

/**
 * The contents that a placeholder in these messages may replace: one for outputs and inputs, any
 * for parts.
 *
 * @param onWire a part as its protocol writes it
 */
export function originalsOf(
  messages: readonly Message[],
  { kind, call }: SeenMarker,
  onWire: (part: unknown) => unknown,
): string[] {
  return messages.flatMap((message) => {
    const text = String(message.content);
    // An observation in a user message has no call.
    if (kind === 'observation') return message.role === 'user' ? [text] : [];
    if (kind === 'tool output') return message.tool_call_id === call ? [text] : [];
    const calls = (message.tool_calls ?? []) as { id: string; function: { arguments: string } }[];
    if (kind === 'tool input')
      return calls.flatMap((one) => (one.id === call ? [one.function.arguments] : []));
    const part =
      message.role === 'user' && Array.isArray(message.content) ? message.content[partOf(call)] : undefined;
    return part === undefined ? [] : [JSON.stringify(onWire(part))];
  });
}

function partOf(call: string): number {
  return Number(call.replace('part_', ''));
}

/** Mistakes in one request's report and headers. */
export function wrongReport({ memory, headers, seen, messages, view }: Sent): string[] {
  const { applied_edits, tokens, refs, summary, frontier, warnings } = memory;
  const markers = markersIn(view);
  const count = (...reasons: string[]): number =>
    markers.filter(({ kind, reason }) => isOutput(kind) && reasons.includes(reason)).length;
  const named = refsIn(view).filter((ref) => ref !== summary?.ref);
  const types: string[] = applied_edits.map(({ type }) => type);
  const cleared = (type: string): number | undefined => {
    const edit = applied_edits.find((one) => one.type === type);
    return edit && 'cleared_tool_results' in edit ? edit.cleared_tool_results : 0;
  };
  const expected: [name: string, is: unknown, should: unknown][] = [
    ['applied', headers.get('x-memory-applied'), types.join(',') || 'none'],
    ['the order of edits', types, ORDER.filter((type) => types.includes(type))],
    ['offloaded outputs', cleared('offload'), count('offloaded')],
    ['repeated outputs', cleared('dedupe'), count('duplicate', 'superseded')],
    ['compacted outputs', cleared('compact'), count('context_compaction')],
    ['refs', refs.map(({ ref }) => ref).toSorted(), named.toSorted()],
    ['x-memory-refs', headers.get('x-memory-refs'), String(refs.length + (summary?.ref ? 1 : 0))],
    ['tokens before', tokens?.before, tokensOf({ ...seen.body, messages })],
    ['x-memory-tokens-before', headers.get('x-memory-tokens-before'), String(tokens?.before)],
    ['x-memory-tokens-after', headers.get('x-memory-tokens-after'), String(tokens?.after)],
    ['cleared tokens', sum(applied_edits), (tokens?.before ?? 0) - (tokens?.after ?? 0)],
    ['x-memory-frontier', headers.get('x-memory-frontier') === 'moved', frontier.moved],
    ['x-memory-warning', headers.get('x-memory-warning'), warnings.join(',') || null],
    [
      'over_budget',
      warnings.includes('over_budget'),
      (tokens?.after ?? 0) > (tokens?.budget ?? 0) && !warnings.includes('waiting'),
    ],
  ];
  const wrong = expected.filter(([, is, should]) => JSON.stringify(is) !== JSON.stringify(should));
  const found = wrong.map(
    ([name, is, should]) => `${name}: ${JSON.stringify(is)}, not ${JSON.stringify(should)}`,
  );
  // Two texts in one string may differ by a token from the sum of both.
  const off = Math.abs((tokens?.after ?? 0) - tokensOf(seen.body));
  if (off > (summary || types.includes('trim') ? 4 : 0))
    found.push(`tokens after: ${tokens?.after}, not ${tokensOf(seen.body)}`);
  return found.map((sentence) => `of ${messages.length} messages, ${sentence}`);
}

const ORDER = ['offload', 'dedupe', 'clear_reasoning', 'compact', 'summarize', 'trim'];

function sum(edits: Report['applied_edits']): number {
  return edits.reduce((all, { cleared_tokens }) => all + cleared_tokens, 0);
}

/**
 * Fetches the contents of a view's placeholders, and returns those that are wrong or missing.
 *
 * @param known refs that need not be fetched again
 */
export async function lostContents(
  { view, messages }: Sent,
  deployment: Deployment,
  known: Set<string>,
): Promise<string[]> {
  const lost: string[] = [];
  for (const marker of markersIn(view)) {
    const { ref, kind, tokens } = marker;
    if (known.has(ref)) continue;
    known.add(ref);
    const response = await deployment.fetch(`/v1/refs/${ref}`);
    const text = await response.text();
    if (!originalsOf(messages, marker, deployment.protocol.part).includes(text))
      lost.push(`${ref} (${response.status}): ${text.slice(0, 80)}`);
    if (isOutput(kind) && tokens !== counter.text(text)) lost.push(`${ref} has not ${tokens} tokens`);
    const type = isOutput(kind) ? 'text/plain; charset=utf-8' : 'application/json';
    if (response.headers.get('content-type') !== type) lost.push(`${ref} is no ${type}`);
  }
  for (const ref of refsIn(view).filter((one) => !known.has(one))) {
    known.add(ref);
    const { status } = await deployment.fetch(`/v1/refs/${ref}`);
    if (status !== 200) lost.push(`${ref}: ${status}`);
  }
  return lost;
}
