/**
 * The upstream of the load test, on loopback. It answers in both protocols, sometimes calls our
 * retrieval tool, and checks that each request has texts of a single tenant.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Answer, chunks, completion, DONE, usageOf } from '../../tools/upstream/completion.ts';
import { listening } from '../../tools/upstream/listening.ts';
import { eventsOf, responseOf } from '../../tools/upstream/response.ts';
import { summaryOf } from '../summary.ts';

/** Response headers: the digests of the body that arrived, and of the body that is sent back. */
export const ARRIVED_HEADER = 'x-arrived-sha256';
export const ANSWERED_HEADER = 'x-answered-sha256';

export const SUMMARIZER_KEY = 'sk-the-key-of-the-summarizer';

/** One in this many eligible requests calls the retrieval tool. */
const FETCHES_EVERY = 3;

const REF = /ref_[a-z2-7]{26}/;
const OWNER = /owner-\d+-of-the-soak/g;

/** The mark in each text of a client. */
export const ownerOf = (client: number): string => `owner-${client}-of-the-soak`;
export const keyOf = (client: number): string => `sk-the-key-of-client-${client}-of-the-soak`;

/** The owners whose texts are in a text. */
export const ownersIn = (text: string): string[] => [...new Set(text.match(OWNER))];

export interface SoakUpstream {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  /** Requests with another client's texts. */
  readonly crossings: readonly string[];
  readonly counts: { requests: number; summaries: number; fetches: number };
  close(): Promise<void>;
}

export async function startSoakUpstream(): Promise<SoakUpstream> {
  const crossings: string[] = [];
  const counts = { requests: 0, summaries: 0, fetches: 0 };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await buffer(request);
    const text = bytes.toString();
    counts.requests++;
    const owners = ownersIn(text);
    const { authorization } = request.headers;
    const isSummary = authorization === `Bearer ${SUMMARIZER_KEY}`;
    const [owner = 'nobody'] = owners;
    const client = Number(/\d+/.exec(owner)?.[0]);
    const isForeign = !isSummary && owners.length > 0 && authorization !== `Bearer ${keyOf(client)}`;
    if (owners.length > 1 || isForeign) crossings.push(`${request.url}: ${owners.join(', ')}`);
    if (isSummary) counts.summaries++;
    const said = isSummary ? summaryFor(owner) : answerFor(text, owner, counts);
    const { type, body } = written(request.url ?? '', text, said);
    response.writeHead(200, {
      'content-type': type,
      [ARRIVED_HEADER]: digestOf(bytes),
      [ANSWERED_HEADER]: digestOf(Buffer.from(body)),
    });
    response.end(body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const { origin, close } = await listening(server);
  return {
    url: origin,
    crossings,
    counts,
    close,
  };
}

function summaryFor(owner: string): Answer {
  return { content: summaryOf(`Kept for ${owner}.`) };
}

/** Text, or sometimes a call of our tool for a ref in the view. */
function answerFor(text: string, owner: string, counts: SoakUpstream['counts']): Answer {
  const [ref] = REF.exec(text) ?? [];
  const mayFetch = ref !== undefined && text.includes('"retrieve_ref"') && !text.includes('call_of_the_soak');
  if (mayFetch && counts.requests % FETCHES_EVERY === 0) {
    counts.fetches++;
    const args = JSON.stringify({ ref });
    return {
      toolCalls: [{ id: `call_of_the_soak_${counts.fetches}`, name: 'retrieve_ref', arguments: args }],
    };
  }
  return { content: `This is said to ${owner}.` };
}

function written(url: string, text: string, answer: Answer): { type: string; body: string } {
  const streams = /"stream"\s*:\s*true/.test(text.slice(0, 200));
  const type = streams ? 'text/event-stream' : 'application/json';
  if (url.endsWith('/responses')) {
    const fields = { ...answer, id: digestOf(Buffer.from(text)).slice(0, 16) };
    return {
      type,
      body: streams ? [...eventsOf({}, fields)].join('') : JSON.stringify(responseOf({}, fields)),
    };
  }
  const frame = { id: 'chatcmpl-soak', model: 'gpt-4.1', usage: usageOf(text.length / 4, 10) };
  const body = streams
    ? [...chunks(answer, frame, true), DONE].join('')
    : JSON.stringify(completion(answer, frame));
  return { type, body };
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
