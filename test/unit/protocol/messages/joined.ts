/** Answers of the Messages API, joined to one: as a body and as a stream. */
import type {
  JoinedBodies,
  JoinedStreams,
  ReasoningForm,
  SaidAnswer,
} from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { type MessageAnswer, messageEvents, messageOf } from '../../../../tools/upstream/message.ts';

export type Json = Record<string, unknown>;

export const OURS = new Set(['retrieve_ref', 'search_memory']);
export const encoder = new TextEncoder();
export const decoder = new TextDecoder();
export const request = { model: 'claude-sonnet-5-5' };

export interface Joined {
  /** The message that the caller gets. */
  readonly message: Json;
  readonly turns: readonly ToolTurn[];
  readonly usage: unknown;
  readonly said: SaidAnswer | undefined;
}

/** How often our calls are answered, and how the caller sees thinking. */
export interface JoinOptions {
  readonly most?: number;
  readonly reasoning?: ReasoningForm;
  /** Changes the bytes of an event. */
  readonly changed?: (frame: string) => string;
}

/** Joins answers, as long as another one is asked for. */
function join<Kind extends JoinedBodies | JoinedStreams>(
  kind: 'joinBodies' | 'joinStreams',
  { most = 3, reasoning = {} }: JoinOptions,
  step: (joined: Kind, count: number) => ToolTurn | undefined,
): Omit<Joined, 'message'> {
  const turns: ToolTurn[] = [];
  const joined = messagesFormat[kind](OURS, () => turns.length < most, reasoning) as Kind;
  for (;;) {
    const turn = step(joined, turns.length);
    if (!turn) return { turns, usage: joined.usage, said: joined.said };
    turns.push(turn);
  }
}

const answerAt = (answers: readonly MessageAnswer[], at: number): MessageAnswer => ({
  id: `${at}`,
  ...(answers[at] ?? { content: 'End.' }),
});

export function whole(answers: readonly MessageAnswer[], options: JoinOptions = {}): Joined {
  let message: Json = {};
  const joined = join<JoinedBodies>('joinBodies', options, (bodies, at) => {
    const taken = bodies.take(encoder.encode(JSON.stringify(messageOf(request, answerAt(answers, at)))));
    if (!(taken instanceof Uint8Array)) return taken;
    message = JSON.parse(decoder.decode(taken));
    return undefined;
  });
  return { ...joined, message };
}

export interface Streamed extends Joined {
  readonly events: readonly Json[];
  readonly text: string;
}

export function streamed(answers: readonly MessageAnswer[], options: JoinOptions = {}): Streamed {
  const { changed = (frame) => frame } = options;
  let text = '';
  const joined = join<JoinedStreams>('joinStreams', options, (streams, at) => {
    if (at > 0) streams.begin();
    for (const event of [...messageEvents(request, answerAt(answers, at))].map(changed))
      for (const { bytes } of streams.take(new Frame(encoder.encode(event)))) text += decoder.decode(bytes);
    streams.end();
    return streams.isThrough ? streams.turn : undefined;
  });
  const events = eventsIn(text);
  return { ...joined, events, text, message: messageFrom(events) };
}

/** The events of a stream. @throws for an event whose name is not its type */
export function eventsIn(text: string): Json[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: ([^\n]*)$/.exec(frame) ?? [];
      const event: Json = JSON.parse(data);
      if (event.type !== name) throw new Error(`${frame} has no name, or another one`);
      return event;
    });
}

/** The message of a stream, as the API's client builds it: blocks are pushed, then found by index. */
export function messageFrom(events: readonly Json[]): Json {
  let message: Json = {};
  const inputs = new Map<unknown, string>();
  for (const { type, index, ...event } of events) {
    const content = message.content as Json[];
    const block = content?.[index as number] as Json;
    const delta = event.delta as Json;
    if (type === 'message_start') message = structuredClone(event.message as Json);
    if (type === 'content_block_start') {
      if (content.length !== index) throw new Error(`block ${index} comes after ${content.length} others`);
      content.push({ ...(event.content_block as Json) });
    }
    if (type === 'content_block_delta' && !block) throw new Error(`there is no block ${index}`);
    if (type === 'content_block_delta') {
      if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`;
      if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`;
      if (delta.type === 'signature_delta') block.signature = delta.signature;
      if (delta.type === 'input_json_delta')
        inputs.set(index, `${inputs.get(index) ?? ''}${delta.partial_json}`);
    }
    if (type === 'content_block_stop' && inputs.has(index)) block.input = JSON.parse(inputs.get(index) ?? '');
    if (type !== 'message_delta') continue;
    const usage: Json = { ...(message.usage as Json) };
    for (const [key, count] of Object.entries(event.usage as Json)) usage[key] = count ?? usage[key];
    message = { ...message, ...delta, usage };
  }
  return message;
}

let ids = 0;
export const call = (name: string, args = '{}') => ({ id: `toolu_${++ids}`, name, arguments: args });
export const thinking = { text: 'I think of it.', signature: 'EqQBCg/+==' };
export const kinds = ({ message }: Pick<Joined, 'message'>): unknown[] =>
  (message.content as Json[]).map(({ type, name }) => name ?? type);
