/** Answers of the Messages API, joined to one: as a body and as a stream. */
import type {
  JoinedBodies,
  JoinedForm,
  JoinedStreams,
  SaidAnswer,
} from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { messagesFormat } from '../../../../src/protocol/messages/format.ts';
import { type MessageAnswer, messageEvents, messageOf } from '../../../../tools/upstream/message.ts';
import { eventsIn, messageFrom } from '../../../support/conversations/message-stream.ts';

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
  readonly reasoning?: JoinedForm;
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

let ids = 0;
export const call = (name: string, args = '{}') => ({ id: `toolu_${++ids}`, name, arguments: args });
export const thinking = { text: 'I think of it.', signature: 'EqQBCg/+==' };
export const kinds = ({ message }: Pick<Joined, 'message'>): unknown[] =>
  (message.content as Json[]).map(({ type, name }) => name ?? type);
