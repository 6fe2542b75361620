/**
 * The clients of the load test. Each replays recorded conversations request by request, in one mode
 * after another.
 */
import type { MemoryStrategyRequest } from '../../src/memory/modes/table.ts';
import { itemsOf, responsesBody, responsesTools } from '../../tools/upstream/items.ts';
import { makeTraces } from '../replay/generator.ts';
import { type ReuseTrace, readTraces } from '../reuse.ts';
import { ANSWERED_HEADER, ARRIVED_HEADER, digestOf, keyOf, ownerOf, ownersIn } from './upstream.ts';

/** In characters. A longer conversation would take all of a client's time. */
const LONGEST_CONVERSATION = 400_000;

/** Requests per conversation, evenly spread over it. */
const MOST_REQUESTS = 12;

/** How long one request may take, in milliseconds. */
const LIMIT_MS = 60_000;

/** Every mode, with budgets that the conversations exceed. */
const MODES: readonly MemoryStrategyRequest[] = [
  { mode: 'none' },
  { mode: 'trim', max_turns: 4, keep_last_n_turns: 2 },
  { mode: 'compact', token_budget: 6_000, compact_keep_steps: 2, compact_retrieval: 'tool' },
  { mode: 'summarize', token_budget: 8_000 },
  { mode: 'rolling_summary', full_zone_turns: 1, summarize_after_seq: 2 },
  { mode: 'auto', token_budget: 10_000, archive: true },
  { mode: 'native', compact_threshold: 50_000 },
];

export interface Tally {
  requests: number;
  readonly byMode: Map<string, number>;
  /** Wrong answers, described in words. */
  readonly errors: string[];
  /** Answers with another client's text. */
  readonly crossings: string[];
  /** In mode `none`: bodies that arrived changed. */
  readonly changed: string[];
}

/** One request, ready to be sent to either Worker. */
interface Prepared {
  readonly path: string;
  readonly mode: string;
  readonly body: Buffer;
  readonly headers: Record<string, string>;
  readonly owner: string;
}

/** Conversations short enough for a client. */
export function soakedTraces(): { source: string; traces: readonly ReuseTrace[] } {
  const recorded = readTraces();
  const traces = recorded ?? makeTraces();
  const short = traces.filter(({ messages }) => JSON.stringify(messages).length <= LONGEST_CONVERSATION);
  return { source: recorded ? 'recorded' : 'generated', traces: short };
}

/**
 * Sends requests until the time is over, each to every Worker in turn.
 *
 * @param isOver called before each request
 * @param tallies of the Workers, in order; the first one is Precis
 */
export async function soakClient(
  client: number,
  traces: readonly ReuseTrace[],
  urls: readonly string[],
  tallies: readonly Tally[],
  isOver: () => boolean,
): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const trace = traces[(client * 31 + round * 7) % traces.length];
    if (!trace) return;
    for (const prepared of requestsOf(trace, client, round)) {
      for (const [index, url] of urls.entries()) {
        if (isOver()) return;
        const tally = tallies[index];
        if (tally) await send(url, prepared, tally, index === 0);
      }
    }
  }
}

function* requestsOf(trace: ReuseTrace, client: number, round: number): Generator<Prepared> {
  const strategy = MODES[(client + round) % MODES.length] as MemoryStrategyRequest;
  const isResponses = round % 2 === 1;
  const owner = ownerOf(client);
  const messages = trace.messages.map((message) => marked(message, owner));
  const points = messages.flatMap((message, index) =>
    message.role === 'assistant' && index > 0 ? [index] : [],
  );
  const every = Math.max(1, Math.ceil(points.length / MOST_REQUESTS));
  for (const [at, end] of points.filter((_, index) => index % every === 0).entries()) {
    const chat = {
      stream: at % 2 === 1,
      model: 'gpt-4.1',
      ...(trace.tools ? { tools: isResponses ? responsesTools(trace.tools) : trace.tools } : {}),
      messages: messages.slice(0, end),
    };
    const body = isResponses ? { ...responsesBody(chat), input: itemsOf(chat.messages) } : chat;
    yield {
      path: isResponses ? '/v1/responses' : '/v1/chat/completions',
      mode: strategy.mode,
      body: Buffer.from(JSON.stringify(body)),
      owner,
      headers: {
        authorization: `Bearer ${keyOf(client)}`,
        'content-type': 'application/json',
        'x-memory-strategy': JSON.stringify(strategy),
        'x-conversation-id': `soak-${client}-${round}`,
        'x-memory-user': `user-${round % 3}`,
      },
    };
  }
}

/** A message with a mark of its owner. */
function marked(message: Readonly<Record<string, unknown>>, owner: string): Record<string, unknown> {
  const { content } = message;
  const text = (words: unknown) => `${words}\n[${owner}]`;
  if (typeof content === 'string' && content !== '') return { ...message, content: text(content) };
  if (!Array.isArray(content)) return { ...message };
  const parts = content.map((part) => (part?.type === 'text' ? { ...part, text: text(part.text) } : part));
  return { ...message, content: parts };
}

/** @param isPrecis whether a changed body counts as a fault */
async function send(url: string, prepared: Prepared, tally: Tally, isPrecis: boolean): Promise<void> {
  const { path, mode, body, headers, owner } = prepared;
  tally.requests++;
  tally.byMode.set(mode, (tally.byMode.get(mode) ?? 0) + 1);
  const where = `${mode} ${path}`;
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const response = await fetch(url + path, { method: 'POST', headers, body, signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    if (!response.ok) tally.errors.push(`${where}: ${response.status} ${text.slice(0, 200)}`);
    else if (!isWhole(text)) tally.errors.push(`${where}: broken off, ${text.slice(-200)}`);
    if (ownersIn(text).some((one) => one !== owner)) tally.crossings.push(where);
    if (mode !== 'none' && isPrecis) return;
    const arrived = response.headers.get(ARRIVED_HEADER) === digestOf(body);
    if (!arrived || response.headers.get(ANSWERED_HEADER) !== digestOf(bytes)) tally.changed.push(where);
  } catch (error) {
    tally.errors.push(`${where}: ${Object(error).name} ${Object(error).message}`);
  }
}

/** Whether an answer is complete and without an error. */
function isWhole(text: string): boolean {
  if (/^(?:event: error|data: \{"error")/m.test(text)) return false;
  if (text.startsWith('{')) return /"(?:choices|output)":/.test(text);
  return text.endsWith('data: [DONE]\n\n') || text.includes('event: response.completed');
}
