/** Answers of the Responses API, joined to one: as a body and as a stream. */
import type {
  JoinedBodies,
  JoinedForm,
  JoinedStreams,
} from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import type { ToolTurn } from '../../../../src/protocol/answers/tool-turn.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { eventsOf, type ResponseAnswer, responseOf } from '../../../../tools/upstream/response.ts';

export type Json = Record<string, unknown>;

export const OURS = new Set(['retrieve_ref', 'search_memory']);
export const encoder = new TextEncoder();
export const decoder = new TextDecoder();

export const TOOLS = ['look_up', 'retrieve_ref'].map((name) => ({ type: 'function', name, parameters: {} }));
export const request = {
  model: 'gpt-5',
  tools: TOOLS,
  store: false,
  include: ['reasoning.encrypted_content'],
};

export interface Joined {
  /** The response that the caller gets. */
  readonly response: Json;
  readonly turns: readonly ToolTurn[];
  readonly usage: unknown;
  readonly lastId: string | undefined;
}

/** Joins these answers by each protocol, as long as another answer is asked for. */
export function join<Kind extends JoinedBodies | JoinedStreams>(
  kind: 'joinBodies' | 'joinStreams',
  most: number,
  step: (joined: Kind, count: number) => ToolTurn | undefined,
  reasoning: JoinedForm = {},
): { turns: ToolTurn[]; usage: unknown; lastId: string | undefined } {
  const turns: ToolTurn[] = [];
  const joined = responsesFormat[kind](OURS, () => turns.length < most, reasoning) as Kind;
  for (;;) {
    const turn = step(joined, turns.length);
    if (!turn) return { turns, usage: joined.usage, lastId: joined.lastId };
    turns.push(turn);
  }
}

export const answerAt = (answers: readonly ResponseAnswer[], at: number): ResponseAnswer => ({
  id: `${at}`,
  ...(answers[at] ?? { content: 'End.' }),
});

export function whole(answers: readonly ResponseAnswer[], most = 3, form: JoinedForm = {}): Joined {
  let response: Json = {};
  const joined = join<JoinedBodies>(
    'joinBodies',
    most,
    (bodies, at) => {
      const taken = bodies.take(encoder.encode(JSON.stringify(responseOf(request, answerAt(answers, at)))));
      if (!(taken instanceof Uint8Array)) return taken;
      response = JSON.parse(decoder.decode(taken));
      return undefined;
    },
    form,
  );
  return { ...joined, response };
}

export interface Streamed extends Joined {
  readonly events: readonly Json[];
  readonly text: string;
  /** The frames for each of the upstream's events. */
  readonly steps: readonly { readonly event: Json; readonly shown: string }[];
}

export const jsonIn = (frame: string): Json => JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '');

export function streamed(
  answers: readonly ResponseAnswer[],
  most = 3,
  changed: (event: string) => string = (event) => event,
  reasoning: JoinedForm = {},
): Streamed {
  const steps: { event: Json; shown: string }[] = [];
  const step = (streams: JoinedStreams, at: number): ToolTurn | undefined => {
    if (at > 0) streams.begin();
    for (const event of [...eventsOf(request, answerAt(answers, at))].map(changed)) {
      const [, data = ''] = /^data: (.*)$/m.exec(event) ?? [];
      const frames = streams.take(new Frame(encoder.encode(event)));
      const shown = frames.map(({ bytes }) => decoder.decode(bytes)).join('');
      steps.push({ event: data === '' ? {} : JSON.parse(data), shown });
    }
    streams.end();
    return streams.isThrough ? streams.turn : undefined;
  };
  const joined = join('joinStreams', most, step, reasoning);
  const text = steps.map(({ shown }) => shown).join('');
  const events = text.split('\n\n').slice(0, -1).map(jsonIn);
  return { ...joined, events, text, steps, response: (events.at(-1)?.response ?? {}) as Json };
}

let ids = 0;
export const call = (name: string, args = '{}') => ({ id: `call_${++ids}`, name, arguments: args });
export const reasoning = { encrypted: 'sealed', summary: 'I think.' };
export const kinds = ({ response }: Joined) =>
  (response.output as Json[]).map(({ type, name }) => name ?? type);
export const UNSTORED: JoinedForm = { isUnstored: true };
