/**
 * The clients of the Responses API, each with its own agent loop: a model that reads chapters of
 * over 20 kB in several steps, and the views of the client's requests.
 */
import { MemorySession, OpenAIResponsesCompactionSession } from '@openai/agents';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import {
  agentsLoop,
  aiSdkLoop,
  answerRound,
  askAgent,
  FUNCTION,
  type Loop,
  MODEL,
  openaiClient,
  openaiLoop,
  readerOf,
  type Setting,
  TASK,
} from '../../support/clients/client-loops.ts';
import { chapter, READ_CHAPTER, ReadingModel, reading, textOf } from '../../support/clients/reading-model.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { type Exchange, recordingFetch } from '../../support/deployment/recording-fetch.ts';
import { startRollingSummarizer } from '../../support/deployment/rolling-summarizer.ts';

const model = new ReadingModel();

const summarizer = await startRollingSummarizer();

const deployment = deploy({
  vars: summarizer.vars,
  upstream: { strict: { jsonArguments: true, stored: model.stored }, responses: model.behaviour },
});

type Json = Record<string, unknown>;

const CLIENTS: readonly (readonly [name: string, loop: Loop])[] = [
  ['openai', openaiLoop([FUNCTION])],
  ['openai with a custom tool', openaiLoop([{ type: 'custom', name: READ_CHAPTER }])],
  ['@openai/agents', agentsLoop(false)],
  ['@ai-sdk/openai', aiSdkLoop(false)],
];

/** For clients that can't add fields to the body. */
const strategyHeader = (strategy: object) => ({ 'x-memory-strategy': JSON.stringify(strategy) });

interface Run {
  readonly said: string;
  readonly exchanges: readonly Exchange[];
  /** The view of each request. */
  readonly views: readonly Json[];
}

/** @param prepare is called when the model knows its steps */
async function run(
  loop: Loop,
  steps: number[][],
  setting: Omit<Setting, 'baseURL' | 'fetch'>,
  path = '/v1',
  prepare = () => {},
) {
  const { fetch, exchanges } = recordingFetch();
  deployment.upstream.requests.length = 0;
  model.read(...steps);
  prepare();
  const said = await loop({ ...setting, baseURL: `${deployment.url}${path}`, fetch });
  const asked = deployment.upstream.requests.filter((request) => request.path.endsWith('/responses'));
  return { said, exchanges, views: asked.map(({ body }) => body) } satisfies Run;
}

const itemsOf = ({ input }: Json): Json[] => input as Json[];
const ofType = (body: Json, type: RegExp): Json[] =>
  itemsOf(body).filter((item) => type.test(String(item.type)));
const outputsOf = (body: Json): string[] => ofType(body, /_call_output$/).map(({ output }) => textOf(output));
const isRemoved = (output: string): boolean => output.startsWith('⟦removed: tool output for read_chapter (');

/** Expects an answer to every request in the form that it asked for, and the right one. */
function expectAnswered({ said, exchanges, views }: Run, book: string, steps: number[][], stream: boolean) {
  expect(exchanges.map(({ status }) => status)).toEqual([...steps, []].map(() => 200));
  const type = stream ? 'text/event-stream' : 'application/json';
  for (const { headers } of exchanges) expect(headers.get('content-type')).toContain(type);
  expect(said).toBe(reading(book, ...steps.flat()));
  expect(views).toHaveLength(exchanges.length);
}

/** Expects that old outputs, and nothing else, were removed, and that each can be fetched. */
async function expectShorterViews({ exchanges, views }: Run, book: string, steps: number[][]) {
  const sent = exchanges.at(-1);
  const view = views.at(-1);
  if (!sent || !view) throw new Error('nothing was asked');
  const originals = steps.flat().map((number) => chapter(book, number));
  expect(outputsOf(sent.sent)).toEqual(originals);
  const outputs = outputsOf(view);
  const removed = outputs.filter(isRemoved);
  expect(removed.length).toBeGreaterThan(1);
  expect(outputs.map((output, at) => (isRemoved(output) ? 'removed' : output === originals[at]))).toEqual(
    outputs.map((_, at) => at >= removed.length || 'removed'),
  );
  for (const [at, output] of removed.entries()) {
    const response = await deployment.fetch(`/v1/refs/${/ref=(ref_\w+)/.exec(output)?.[1]}`);
    expect([response.status, await response.text()]).toEqual([200, originals[at]]);
  }
  const emptied = (item: Json) =>
    String(item.type).endsWith('_call_output') ? { ...item, output: '' } : item;
  expect(itemsOf(view).map(emptied)).toEqual(itemsOf(sent.sent).map(emptied));
  const tokens = (name: string) => Number(sent.headers.get(`x-memory-tokens-${name}`));
  expect(tokens('after')).toBeLessThan(tokens('before'));
  expect(tokens('after')).toBeGreaterThan(0);
}

/** Expects that a view differs from the one before only where the headers say so. */
function expectStablePrefixes({ exchanges, views }: Run) {
  const moves = exchanges.map(({ headers }) => headers.get('x-memory-frontier') === 'moved');
  expect(moves).toContain(true);
  for (const [at, view] of views.entries()) {
    const before = itemsOf(views[at - 1] ?? { input: [] });
    if (!moves[at]) expect(itemsOf(view).slice(0, before.length)).toEqual(before);
  }
}

/** Expects reasoning upstream as the model sent it, encrypted, once for each step. */
function expectReasoning({ views }: Run, steps: number[][]) {
  const reasoning = ofType(views.at(-1) ?? {}, /^reasoning$/);
  expect(reasoning).toHaveLength(steps.length);
  for (const { id, encrypted_content } of reasoning)
    expect(encrypted_content).toBe(`${String(id).slice('rs_'.length)}:${'encrypted'.repeat(20)}`);
}

const STEPS = [[1], [2, 3], [4], [5], [6], [7]];

describe.each(CLIENTS)('an agent of %s', (client, loop) => {
  inTurn(
    [false, true],
    (stream) => `(streamed: ${stream})`,
    (stream) => {
      it.each([
        { mode: 'auto', token_budget: 16_000, min_reclaim_tokens: 0 },
        { mode: 'compact', token_budget: 10_000, low_watermark_pct: 0.6 },
      ])('reads a long book in mode $mode', async (strategy) => {
        const book = `${client} ${strategy.mode} ${stream}`;
        const done = await run(loop, STEPS, { book, stream, headers: strategyHeader(strategy) });
        expectAnswered(done, book, STEPS, stream);
        await expectShorterViews(done, book, STEPS);
        expectStablePrefixes(done);
        expectReasoning(done, STEPS);
      });

      it('has what its model looks up within one answer, and sees nothing of it', async () => {
        const book = `${client} looks up ${stream}`;
        const headers = strategyHeader({ mode: 'auto', token_budget: 16_000, min_reclaim_tokens: 0 });
        const done = await run(loop, STEPS, { book, stream, headers }, '/v1', () => model.lookUp());
        expect(done.exchanges.map(({ status }) => status)).toEqual([...STEPS, []].map(() => 200));
        // The first chapter's word occurs twice: when read, and when looked up after the fifth
        // chapter.
        expect(done.said).toBe(reading(book, 1, 2, 3, 4, 5, 1, 6, 7));
        expect(done.views).toHaveLength(done.exchanges.length + 1);
        // The round that fetched, and the two requests after it: what was fetched stays in view.
        expect(done.views.map((view) => JSON.stringify(view.input).includes('retrieve_ref'))).toEqual([
          ...[false, false, false, false, false],
          ...[true, true, true],
        ]);
        expect(JSON.stringify(done.exchanges.map(({ sent }) => sent))).not.toContain('retrieve_ref');
      });

      it('continues with a summary where placeholders do not free enough', async () => {
        const book = `${client} summarised ${stream}`;
        const headers = strategyHeader({ mode: 'auto', token_budget: 10_000, min_reclaim_tokens: 0 });
        const done = await run(loop, STEPS, { book, stream, headers });
        expectAnswered(done, book, STEPS, stream);
        const view = JSON.stringify(done.views.at(-1));
        expect(view).toMatch(/<session_summary ref=\\"ref_[a-z2-7]{26}\\" covers=/);
        expect(view).toContain(TASK);
      });
    },
  );
});

/** The defaults of a client whose user does not set `store`. */
inTurn(
  [false, true],
  (stream) => `with the defaults of its client (streamed: ${stream})`,
  (stream) => {
    const headers = strategyHeader({ mode: 'compact', token_budget: 10_000 });

    it('an agent of @openai/agents sends whole items, and gets a shorter view', async () => {
      const book = `stored items ${stream}`;
      const done = await run(agentsLoop(), STEPS, { book, stream, headers });
      expectAnswered(done, book, STEPS, stream);
      await expectShorterViews(done, book, STEPS);
      expectStablePrefixes(done);
      expect(ofType(done.views.at(-1) ?? {}, /^reasoning$/)).toHaveLength(STEPS.length);
    });

    it('an agent of @ai-sdk/openai names items that the upstream has stored, and these requests are sent as they are', async () => {
      const book = `references ${stream}`;
      const done = await run(aiSdkLoop(), STEPS, { book, stream, headers });
      expectAnswered(done, book, STEPS, stream);
      // The first request names none, so its model may fetch.
      const [, ...naming] = done.exchanges.map(({ sent }) => sent);
      expect(done.views.slice(1)).toEqual(naming);
      expect(ofType(done.views.at(-1) ?? {}, /^item_reference$/)).not.toEqual([]);
      expect(done.exchanges.at(-1)?.headers.get('x-memory-warning')).toBe('upstream_state');
    });
  },
);

inTurn(
  [false, true],
  (stream) => `a client that changes its base URL alone (streamed: ${stream})`,
  (stream) => {
    it.each([
      ['openai', openaiLoop([FUNCTION])],
      ['@openai/agents', agentsLoop(false)],
      ['@ai-sdk/openai', aiSdkLoop(false)],
    ])('has the strategy of the agent that the URL names (%s)', async (client, loop) => {
      const book = `${client} coding ${stream}`;
      // Ten steps stay, so most of what exceeds the budget must be older.
      const steps = Array.from({ length: 26 }, (_, at) => [at]);
      const done = await run(loop, steps, { book, stream, headers: {} }, '/agents/coding/v1');
      expectAnswered(done, book, steps, stream);
      await expectShorterViews(done, book, steps);
      expectStablePrefixes(done);
      expectReasoning(done, steps);
      expect(done.exchanges.at(-1)?.headers.get('x-memory-source')).toBe('agent');
    });
  },
);

inTurn(
  [false, true],
  (stream) => `a chat with the openai client in mode rolling_summary (streamed: ${stream})`,
  (stream) => {
    it('is remembered after its answers, tool steps and all, and its older rounds become that memory', async () => {
      const { fetch, exchanges } = recordingFetch();
      const conversation = `rolling responses ${stream}`;
      const client = openaiClient({
        baseURL: `${deployment.url}/v1`,
        fetch,
        headers: {
          ...strategyHeader({ mode: 'rolling_summary', full_zone_turns: 0 }),
          'x-conversation-id': conversation,
        },
      });
      const input: OpenAI.Responses.ResponseInput = [];
      const memories = async () => {
        const response = await deployment.fetch(
          `/v1/conversations/${encodeURIComponent(conversation)}/memory`,
        );
        const { memories = [] } = response.ok ? ((await response.json()) as { memories: Json[] }) : {};
        return memories.filter(({ status }) => status === 'completed');
      };
      for (let round = 1; round <= 4; round++) {
        if (round === 4)
          await until('three rounds are remembered', async () => (await memories()).length === 1);
        input.push({ role: 'user', content: `Read chapter ${round}.` });
        model.read([round]);
        const said = await answerRound(client, input, { book: conversation, stream, tools: [FUNCTION] });
        expect(said).toBe(reading(conversation, round));
      }
      expect(exchanges.map(({ status }) => status)).toEqual(Array(8).fill(200));
      const [asked, answered] = deployment.upstream.requests.slice(-2).map(({ body }) => body);
      expect(itemsOf(asked).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
      expect(itemsOf(asked)[1]?.content).toMatch(/^<session_summary ref="ref_[a-z2-7]{26}" covers="/);
      expect(itemsOf(asked)[2]?.content).toBe('Read chapter 4.');
      // No memory covers the round's own steps yet.
      expect(itemsOf(answered).slice(0, 3)).toEqual(itemsOf(asked));
      expect(outputsOf(answered)).toEqual([chapter(conversation, 4)]);
      const tokens = (name: string) => Number(exchanges.at(-1)?.headers.get(`x-memory-tokens-${name}`));
      expect(tokens('after')).toBeLessThan(tokens('before'));
      expect(summarizer.prompts().join()).toContain(reading(conversation, 1));
    });
  },
);

inTurn(
  [false, true],
  (stream) => `an agent of @openai/agents whose session compacts itself (streamed: ${stream})`,
  (stream) => {
    it('continues after the compaction that Precis makes, and its later outputs become placeholders', async () => {
      const { fetch, exchanges } = recordingFetch();
      const book = `compacting session ${stream}`;
      const headers = strategyHeader({ mode: 'compact', token_budget: 10_000 });
      const setting: Setting = { baseURL: `${deployment.url}/v1`, headers, fetch, book, stream };
      const session = new OpenAIResponsesCompactionSession({
        client: openaiClient(setting),
        underlyingSession: new MemorySession(),
        model: MODEL,
      });
      const ask = async (...chapters: number[]) => {
        model.read(...chapters.map((number) => [number]));
        const said = await askAgent(readerOf(book, false), 'Read on.', setting, session);
        expect(said).toBe(reading(book, ...chapters));
      };
      await ask(1, 2, 3);
      expect(exchanges.at(-1)?.path).toBe('/v1/responses/compact');
      expect(exchanges.at(-1)?.sent.input).toHaveLength(12);
      expect((await session.getItems()).map(({ type }) => type)).toEqual(['message', 'compaction']);

      await ask(4, 5, 6, 7, 8);
      expect(exchanges.map(({ status }) => status)).toEqual(exchanges.map(() => 200));
      expect(deployment.upstream.requests.map(({ path }) => path)).not.toContain('/v1/responses/compact');
      const view = deployment.upstream.requests.findLast(({ path }) => path.endsWith('/responses'))?.body;
      expect(JSON.stringify(view)).toContain('<session_summary ');
      const outputs = outputsOf(view);
      for (const number of [1, 2, 3]) expect(outputs).not.toContain(chapter(book, number));
      expect(outputs.map(isRemoved)).toContain(true);
    });
  },
);
