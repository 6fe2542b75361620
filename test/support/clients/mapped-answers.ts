/** What the caller of chat gets over a bridge, whole or streamed, in one form. */
import OpenAI from 'openai';
import { dataOf } from '../deployment/event-stream.ts';

type Json = Record<string, unknown>;

/** An answer, or the error instead of it. */
export interface Mapped {
  readonly status: number;
  readonly choice: Json;
  /** Of a completion, or of the chunks. */
  readonly head: Json;
  readonly usage: unknown;
  readonly error: Json | undefined;
  /** Whether it ended as an answer ends. */
  readonly isWhole: boolean;
}

/** Reads an answer; of a stream also by the stream helper of the official client. */
export async function mapped(response: Response): Promise<Mapped> {
  const { status, headers } = response;
  const text = await response.text();
  if (!headers.get('content-type')?.startsWith('text/event-stream')) {
    const { choices, usage, error, ...head } = JSON.parse(text);
    const isWhole = choices !== undefined;
    return { status, choice: choices?.[0] ?? {}, head, usage, error, isWhole };
  }
  const data = dataOf(text);
  const isWhole = data.at(-1) === '[DONE]';
  const chunks = data.slice(0, isWhole ? -1 : undefined).map((json) => JSON.parse(json) as Json);
  const { error } = (chunks.at(-1) ?? {}) as { error?: Json };
  const said = chunks.filter(({ choices }) => choices);
  if (isWhole && !text.includes('"custom":')) await readByClient(text);
  const { choices: _, usage: __, ...head } = said.at(-1) ?? {};
  const usage = said.find((chunk) => (chunk.choices as unknown[]).length === 0)?.usage;
  const pieces = said.flatMap(({ choices }) => choices as Json[]);
  return { status, choice: joined(pieces), head, usage, error, isWhole };
}

/** The choice that the deltas of a stream add up to. */
function joined(pieces: readonly Json[]): Json {
  const message: Json = { content: null, refusal: null };
  const calls: Json[] = [];
  const logprobs = pieces.flatMap((piece) => (piece.logprobs as { content?: Json[] })?.content ?? []);
  for (const { role, tool_calls = [], ...delta } of pieces.map((piece) => piece.delta as Json)) {
    if (role) message.role = role;
    for (const [key, value] of Object.entries(delta)) {
      if (Array.isArray(value)) message[key] = [...((message[key] ?? []) as Json[]), ...value];
      else if (value) message[key] = `${message[key] ?? ''}${value}`;
    }
    for (const { index, ...piece } of tool_calls as Json[]) {
      const known = calls[Number(index)];
      calls[Number(index)] = known ? longer(known, piece) : piece;
    }
  }
  return {
    index: 0,
    message: { ...message, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
    logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
    finish_reason: pieces.findLast((piece) => piece.finish_reason)?.finish_reason,
  };
}

function longer(call: Json, piece: Json): Json {
  const [[kind = '', more = {}] = []] = Object.entries(piece) as [string, Json][];
  const known = call[kind] as Json;
  const added = Object.entries(more).map(([key, text]) => [key, `${known[key] ?? ''}${text}`]);
  return { ...call, [kind]: { ...known, ...Object.fromEntries(added) } };
}

async function readByClient(sse: string): Promise<void> {
  const headers = { 'content-type': 'text/event-stream' };
  const fetch = () => Promise.resolve(new Response(sse, { headers }));
  const client = new OpenAI({ apiKey: 'sk-test', baseURL: 'http://127.0.0.1/v1', fetch, maxRetries: 0 });
  await client.chat.completions.stream({ model: 'm', messages: [] }).finalChatCompletion();
}
