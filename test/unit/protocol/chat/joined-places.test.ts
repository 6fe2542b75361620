/** What says something of a text of several rounds: citations by their place, and probabilities. */
import { describe, expect, it } from 'vitest';
import type { JoinedForm } from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';

type Json = Record<string, unknown>;

const OURS = new Set(['retrieve_ref']);
const CALL = { id: 'c1', type: 'function', function: { name: 'retrieve_ref', arguments: '{}' } };

interface Said {
  readonly content: string;
  readonly cited?: string;
  /** Whether a call of Precis's tool follows. */
  readonly fetches?: boolean;
  readonly logprobs?: Json | null;
}

function citation(content: string, cited: string): Json {
  const start_index = content.indexOf(cited);
  const url_citation = { url: 'https://example.com', start_index, end_index: start_index + cited.length };
  return { type: 'url_citation', url_citation };
}

const tokens = (text: string): Json[] => [{ token: text, logprob: -0.1, bytes: null, top_logprobs: [] }];
const annotationsOf = ({ content, cited }: Said): Json[] =>
  cited === undefined ? [] : [citation(content, cited)];
const logprobsOf = ({ content, logprobs }: Said): Json | null =>
  logprobs === undefined ? { content: tokens(content), refusal: null } : logprobs;

interface Choice {
  readonly message: { readonly content: string; readonly annotations: readonly Json[] };
  readonly logprobs: Json | null;
}

function whole(answers: readonly Said[], form: JoinedForm): Choice {
  const joined = chatFormat.joinBodies(OURS, () => true, form);
  const bodies = answers.map((said) => {
    const { content, fetches } = said;
    const message = {
      ...{ role: 'assistant', content, annotations: annotationsOf(said) },
      ...(fetches ? { tool_calls: [CALL] } : {}),
    };
    const finish_reason = fetches ? 'tool_calls' : 'stop';
    return { id: 'c', choices: [{ index: 0, message, logprobs: logprobsOf(said), finish_reason }] };
  });
  const taken = bodies.map((body) => joined.take(new TextEncoder().encode(JSON.stringify(body)))).at(-1);
  return JSON.parse(new TextDecoder().decode(taken as Uint8Array)).choices[0];
}

function streamed(answers: readonly Said[], form: JoinedForm): Choice {
  const joined = chatFormat.joinStreams(OURS, () => true, form);
  const message = { content: '', annotations: [] as Json[] };
  const content: unknown[] = [];
  for (const [at, said] of answers.entries()) {
    if (at > 0) joined.begin();
    const deltas: Json[] = [{ content: said.content }, { annotations: annotationsOf(said) }];
    const call = said.fetches ? [{ tool_calls: [{ index: 0, ...CALL }] }] : [];
    for (const delta of [...deltas, ...call]) {
      const logprobs = 'content' in delta ? logprobsOf(said) : null;
      const chunk = { id: 'c', choices: [{ index: 0, delta, logprobs, finish_reason: null }] };
      for (const frame of joined.take(Frame.of(JSON.stringify(chunk)))) read(frame);
    }
    const end = { index: 0, delta: {}, finish_reason: said.fetches ? 'tool_calls' : 'stop' };
    for (const frame of joined.take(Frame.of(JSON.stringify({ id: 'c', choices: [end] })))) read(frame);
    joined.end();
  }
  return { message, logprobs: { content, refusal: null } };

  function read({ json }: Frame): void {
    const [choice] = (json as { choices: { delta: Json; logprobs?: { content: unknown[] } }[] }).choices;
    message.content += choice?.delta.content ?? '';
    message.annotations.push(...((choice?.delta.annotations ?? []) as Json[]));
    content.push(...(choice?.logprobs?.content ?? []));
  }
}

describe.each([
  ['a whole answer', whole],
  ['a stream', streamed],
])('in %s', (_, play) => {
  const cites = ({ message: { content, annotations } }: Choice): string[] =>
    annotations.map((annotation) => {
      const { start_index, end_index } = annotation.url_citation as Record<string, number>;
      return content.slice(start_index, end_index);
    });

  it('citations follow what they cite, in every round', () => {
    const said = play(
      [
        { content: 'Let me look at "A" 😀. ', cited: '"A"', fetches: true },
        { content: 'And B. ', cited: 'B', fetches: true },
        { content: 'C says 42.', cited: 'C' },
      ],
      {},
    );
    expect(said.message.content).toBe('Let me look at "A" 😀. And B. C says 42.');
    expect(cites(said)).toEqual(['"A"', 'B', 'C']);
  });

  it('citations of an answer in JSON stay where they are', () => {
    const said = play(
      [
        { content: 'Let me look at A.', cited: 'A', fetches: true },
        { content: '["C"]', cited: 'C' },
      ],
      { isJson: true },
    );
    expect(cites(said)).toEqual(['C']);
  });

  it('the log probabilities are the text’s', () => {
    const answers: Said[] = [{ content: 'One. ', fetches: true }, { content: 'Two.' }];
    expect(play(answers, {}).logprobs).toEqual({
      content: [...tokens('One. '), ...tokens('Two.')],
      refusal: null,
    });
    expect(play(answers, { isJson: true }).logprobs).toEqual({ content: tokens('Two.'), refusal: null });
  });
});

it('an answer has no log probabilities where no round has any', () => {
  const said = whole(
    [
      { content: 'One. ', fetches: true, logprobs: null },
      { content: 'Two.', logprobs: null },
    ],
    {},
  );
  expect(said.logprobs).toBeNull();
});

it('an answer has the log probabilities of the only round that has any', () => {
  const said = whole(
    [
      { content: 'One. ', fetches: true },
      { content: '', logprobs: null },
    ],
    {},
  );
  expect(said.logprobs).toEqual({ content: tokens('One. '), refusal: null });
});
