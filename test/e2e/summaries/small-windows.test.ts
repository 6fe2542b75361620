/**
 * Summarizers whose context is small. Servers add the answer's limit to the prompt before they read
 * it, and refuse a request that does not fit.
 */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { type Behaviour, behave, sendJson } from '../../../tools/upstream/behaviours.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation, readSummary, summarize, tokensIn } from '../../support/deployment/summarizer.ts';

interface Asked {
  readonly prompt: number;
  readonly answer: number;
  readonly refused: boolean;
}

/** Refuses a request in the words of a server. */
type Words = (sizes: { readonly window: number; readonly prompt: number; readonly answer: number }) => object;

let model: { readonly window: number; readonly words: Words };
let asked: Asked[] = [];

const chat: Behaviour = (request, response, recorded) => {
  const { messages = [], max_tokens: answer = 0 } = recorded.body;
  const texts: string[] = messages.map(({ content }: { content: unknown }) => String(content));
  if (!texts.at(-1)?.includes('<transcript-'))
    return void behave({ type: 'answer' }, request, response, recorded);
  const prompt = texts.reduce((sum, text) => sum + encode(text).length, 0);
  const refused = prompt + answer > model.window;
  asked.push({ prompt, answer, refused });
  if (refused) return sendJson(response, model.words({ window: model.window, prompt, answer }), 400);
  return void (summarize as Exclude<Behaviour, { type: string }>)(request, response, recorded);
};

const deployment = deploy({ upstream: { chat } });
const configured = (tokens: number) =>
  deploy({ upstream: { chat }, vars: { MODEL_WINDOWS: `[{"family":"a-model","window":${tokens}}]` } });

const WORDS: Record<string, Words> = {
  'prompt and answer apart': ({ window, prompt, answer }) => ({
    error: {
      message: `This model's maximum context length is ${window} tokens. However, you requested ${prompt + answer} tokens (${prompt} in the messages, ${answer} in the completion). Please reduce the length of the messages or completion.`,
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  }),
  'the limit of the answer, without an error object': ({ window, prompt, answer }) => ({
    object: 'error',
    message: `'max_tokens' or 'max_completion_tokens' is too large: ${answer}. This model's maximum context length is ${window} tokens and your request has ${prompt} input tokens (${answer} > ${window} - ${prompt}).`,
    type: 'BadRequestError',
    code: 400,
  }),
  'no number': () => ({ error: { message: 'The prompt is too long.', type: 'invalid_request_error' } }),
};

let topics = 0;

/** A new conversation of about 14,000 tokens in many turns. */
function talk() {
  const long = `The record says: ${'weighed, wrapped, and shelved again. '.repeat(60)}`;
  return conversation(`crates ${++topics}`, 28).map((message) =>
    message.role === 'assistant' ? { ...message, content: `${message.content} ${long}` } : message,
  );
}

const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2, keep_first_user: false };

const fits = ({ prompt, answer }: Asked): boolean => prompt + answer <= model.window;

overProtocols('a summarizer with a small window', deployment, (protocol) => {
  it.each(
    Object.entries(WORDS).flatMap(([name, words]) =>
      [8_192, 12_288].map((window) => [name, window, words] as const),
    ),
  )('that refuses with %s is asked for smaller chunks within %i tokens', async (name, window, words) => {
    model = { window, words };
    asked = [];
    const { seen, memory } = await deployment.ask({
      model: `model-${protocol.name}-${++topics}`,
      memory_strategy: strategy,
      messages: talk(),
    });

    expect(memory.summary?.status).toBe('completed');
    expect(readSummary(seen.body.messages[2].content).text).toContain('kenning-');
    const answered = asked.filter(({ refused }) => !refused);
    expect(answered.length).toBeGreaterThan(1);
    expect(answered.every(fits)).toBe(true);
    const refused = asked.flatMap(({ refused, prompt, answer }) => (refused ? [prompt + answer] : []));
    // The same is never asked again, and a window that the server states is found out by one call.
    expect(refused).toEqual([...new Set(refused)].toSorted((a, b) => b - a));
    if (name !== 'no number') expect(refused).toHaveLength(1);
  });

  it('is asked within a window that it has stated from then on', async () => {
    model = { window: 8_192, words: WORDS['prompt and answer apart'] as Words };
    const name = `model-${protocol.name}-${++topics}`;
    const ask = () => deployment.ask({ model: name, memory_strategy: strategy, messages: talk() });
    await ask();
    asked = [];
    const { memory } = await ask();

    expect(memory.summary?.status).toBe('completed');
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.every(fits)).toBe(true);
  });
});

describe.each(ofTurn(1, [4_096, 8_192, 12_288]))(
  'a summarizer whose window of %i tokens is known',
  (window) => {
    const known = configured(window);

    it('is never asked for more', async () => {
      model = { window, words: WORDS['no number'] as Words };
      asked = [];
      const { memory, seen } = await known.ask({
        model: 'a-model',
        memory_strategy: { ...strategy, context_window_tokens: window },
        messages: talk(),
      });

      expect(memory.summary?.status).toBe('completed');
      expect(asked.filter(({ refused }) => refused)).toEqual([]);
      const [last] = tokensIn(seen.rawBody.toString()).slice(-1);
      expect(last).toBeDefined();
    });
  },
);
