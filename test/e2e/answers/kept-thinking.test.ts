/** Conversations with a model that binds its thinking, by every gateway, through moves. */
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { blocksIn, type Dialect } from '../../../tools/upstream/bound-thinking.ts';
import { type SigningModel, signingModel } from '../../../tools/upstream/signing-model.ts';
import {
  type Answered,
  ThinkingAgent,
  type ThinkingAgentOptions,
  workingModel,
} from '../../support/clients/thinking-agent.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn, ofTurn } from '../../support/deployment/in-turn.ts';

type Json = Record<string, unknown>;

const STEPS = 3;
/** Of the output of a step: a turn has twice as many tokens as the least budget leaves for it. */
const LINES = 100;

let model: SigningModel;
const behaviour: Behaviour = (...given) => {
  if (typeof model.behaviour === 'function') model.behaviour(...given);
};
const deployment = deploy({
  summarizer: true,
  upstream: { strict: { lenientFields: true }, chat: behaviour },
});

const DIALECTS: readonly Dialect[] = ['openrouter', 'litellm', 'responses'];
const MODELS = ['anthropic/claude-fable-5.1', 'claude-fable-5-2'];

let conversations = 0;

/** An agent of its own conversation, and its requests to the upstream. */
function agentOf(dialect: Dialect, stream: ThinkingAgentOptions['stream'], fields: Json, steps = STEPS) {
  const drops = String(fields.model).startsWith('gpt');
  model = signingModel({ dialect, answer: workingModel(steps), drops });
  const conversation_id = `thinker-${++conversations}`;
  const all = { model: MODELS[conversations % 2], conversation_id, user: 'u', ...fields };
  const agent = new ThinkingAgent(deployment.client(), { dialect, stream, fields: all, lines: LINES });
  const sent = () => deployment.upstream.requests.filter(({ path }) => /completions|responses/.test(path));
  return { agent, sent };
}

/** A client of the upstream itself. */
const elsewhere = () =>
  new OpenAI({ apiKey: 'sk-theirs', baseURL: `${deployment.upstream.url}`, maxRetries: 0 });

const FORMS = [...DIALECTS, ...DIALECTS].map((dialect, at) => ({ dialect, stream: at % 2 === 0 }));

const isMove = ({ memory }: Answered): boolean => memory.frontier.moved;

// What a mode does to an array does not depend on how an answer came, so each has both in turn.
inTurn(
  DIALECTS,
  (dialect) => `thinking by ${dialect}, of answers in one piece and in streams,`,
  (dialect) => {
    it.each<[what: string, strategy: object]>([
      ['auto', { mode: 'auto', token_budget: 8_000, context_window_tokens: 12_000 }],
      ['auto that enforces its budget', { mode: 'auto', token_budget: 8_000, min_reclaim_tokens: 0 }],
      ['compact', { mode: 'compact', token_budget: 8_000, compact_retrieval: 'off' }],
      ['compact with retrieval', { mode: 'compact', token_budget: 8_000 }],
      ['compact that slides', { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 }],
      ['summarize', { mode: 'summarize', context_limit: 2, keep_last_n_turns: 1 }],
      ['trim', { mode: 'trim', max_turns: 3, keep_last_n_turns: 1 }],
      ['rolling_summary', { mode: 'rolling_summary', summarize_after_seq: 1, full_zone_turns: 1 }],
    ])('is never refused under %s', async (_, memory_strategy) => {
      const { agent, sent } = agentOf(dialect, 'in turn', { memory_strategy });
      const answers: Answered[] = [];
      for (let turn = 1; turn <= 4; turn++)
        answers.push(...(await agent.turn(`What does number ${turn} weigh?`)));

      expect(model.refused).toBe(0);
      expect(answers.some(isMove)).toBe(true);
      const dropped = answers.filter(({ memory }) => memory.warnings.includes('thinking_dropped'));
      expect(dropped.length).toBeGreaterThan(0);
      for (const { memory } of dropped) expect(memory.dropped_thinking_blocks).toBeGreaterThan(0);
      expect(sent().some(({ body }) => blocksIn(body).length > 1)).toBe(true);
    });

    it.each(ofTurn(0, [true, false]))(
      'is never refused after Precis’s rounds, kept or not (keep_rounds: %s)',
      async (keep_rounds) => {
        const memory_strategy = {
          mode: 'compact',
          token_budget: 12_000,
          low_watermark_pct: 0.5,
          compact_retrieval: 'tool',
          keep_rounds,
        };
        const { agent } = agentOf(dialect, 'in turn', { memory_strategy });
        const answers: Answered[] = [];
        for (let turn = 1; turn <= 4; turn++)
          answers.push(...(await agent.turn(`What does number ${turn} weigh?`)));
        expect(model.refused).toBe(0);
        expect(answers.some(({ memory }) => (memory.retrieval?.rounds ?? 0) > 0)).toBe(true);
        expect(answers.some(({ memory }) => memory.kept_rounds !== undefined)).toBe(keep_rounds);
      },
    );

    it('stays as long as nothing before it changes, and goes with what is refreshed', async () => {
      const label = `note-${++conversations}`;
      const put = (text: string) =>
        deployment.fetch(`/v1/blocks/${label}`, { method: 'PUT', body: JSON.stringify({ text }) });
      await put('Weigh twice.');
      const fields = {
        memory_strategy: { mode: 'compact', token_budget: 100_000 },
        memory_blocks: { labels: [label] },
        memory_injection: true,
      };
      const { agent, sent } = agentOf(dialect, 'in turn', fields);
      await agent.turn('What does number 1 weigh?');
      await put('Weigh once.');
      const before = await agent.turn('What does number 2 weigh?');
      expect(before.flatMap(({ memory }) => memory.warnings)).not.toContain('thinking_dropped');
      expect(blocksIn(sent().at(-1)?.body ?? {})).toHaveLength(2 * STEPS + 1);

      const refresh = { memory_blocks: { labels: [label], refresh: true } };
      const [first, ...rest] = await agent.turn('What does number 3 weigh?', refresh);
      expect(first?.memory.warnings).toContain('thinking_dropped');
      expect(first?.memory.dropped_thinking_blocks).toBe(2 * STEPS + 2);
      expect(first?.memory.frontier.moved).toBe(true);
      for (const { memory } of rest) expect(memory.dropped_thinking_blocks).toBe(2 * STEPS + 2);
      await agent.turn('What does number 4 weigh?');
      expect(blocksIn(sent().at(-1)?.body ?? {})).toHaveLength(2 * STEPS + 1);
      expect(model.refused).toBe(0);
    });

    it('goes with a summary that comes late', async () => {
      const { agent, sent } = agentOf(dialect, 'in turn', {
        memory_strategy: {
          mode: 'summarize',
          context_limit: 3,
          keep_last_n_turns: 1,
          summary_max_tokens: 300,
        },
      });
      await agent.turn('What does number 1 weigh?');
      await agent.turn('What does number 2 weigh?');
      deployment.summarizer.next('refusal', 'refusal', 'refusal', 'refusal');
      for (const turn of [3, 4, 5, 6]) await agent.turn(`What does number ${turn} weigh?`);
      expect(model.refused).toBe(0);
      expect(blocksIn(sent().at(-1)?.body ?? {}).length).toBeGreaterThan(0);
    });

    it('goes where Precis’s tools come later than the first request', async () => {
      const strategy = { mode: 'compact', token_budget: 100_000 };
      const off = { memory_strategy: { ...strategy, compact_retrieval: 'off' } };
      const { agent } = agentOf(dialect, 'in turn', {});
      await agent.turn('What does number 1 weigh?', off);
      const later = { memory_strategy: strategy };
      const [first] = await agent.turn('What does number 2 weigh?', later);
      expect(first?.memory.dropped_thinking_blocks).toBe(STEPS + 1);
      await agent.turn('What does number 3 weigh?', later);
      expect(model.refused).toBe(0);
    });

    it('is kept apart in each fork of a conversation', async () => {
      const { agent, sent } = agentOf(dialect, 'in turn', {
        memory_strategy: { mode: 'compact', token_budget: 100_000 },
      });
      await agent.turn('What does number 1 weigh?');
      const trunk = [...agent.array];
      await agent.turn('What does number 2 weigh?');
      const branch = [...agent.array];
      agent.array.splice(0, agent.array.length, ...trunk);
      await agent.turn('What does number 3 weigh?');
      agent.array.splice(0, agent.array.length, ...branch);
      await agent.turn('What does number 4 weigh?');
      expect(model.refused).toBe(0);
      expect(blocksIn(sent().at(-1)?.body ?? {})).toHaveLength(3 * STEPS + 2);
    });
  },
);

// The request that is refused has one form.
inTurn(
  FORMS,
  ({ dialect, stream }) => `thinking by ${dialect} (stream: ${stream})`,
  ({ dialect, stream }) => {
    // An isolate knows a request by its array, so these two ask what no other test asks.
    it.each<[what: string, strategy: object]>([
      [
        'moved the view',
        { mode: 'compact', token_budget: 17_000, low_watermark_pct: 0.4, compact_retrieval: 'off' },
      ],
      ['had tools of ours', { mode: 'compact', token_budget: 100_000 }],
    ])(
      'is refused once, unseen, where the caller has skipped requests that would have %s',
      async (_, memory_strategy) => {
        const { agent, sent } = agentOf(dialect, stream, { memory_strategy });
        await agent.turn('What does number 11 weigh?');
        agent.forgetThinking();
        for (const turn of [12, 13])
          await agent.turnElsewhere(`What does number ${turn} weigh?`, elsewhere());
        const before = sent().length;
        const [first, ...rest] = await agent.turn('What does number 14 weigh?');
        expect(first?.memory.dropped_thinking_blocks).toBe(2 * (STEPS + 1));
        expect(sent()).toHaveLength(before + 2 + rest.length);
        await agent.turn('What does number 15 weigh?');
        expect(model.refused).toBe(1);
      },
    );

    it('is refused once, unseen by the caller, in a conversation that was begun elsewhere', async () => {
      const memory_strategy = { mode: 'compact', token_budget: 17_000, low_watermark_pct: 0.4 };
      const { agent } = agentOf(dialect, stream, { memory_strategy });
      for (const turn of [21, 22, 23])
        await agent.turnElsewhere(`What does number ${turn} weigh?`, elsewhere());
      const [first] = await agent.turn('What does number 24 weigh?');
      expect(first?.memory.dropped_thinking_blocks).toBe(3 * (STEPS + 1));
      await agent.turn('What does number 25 weigh?');
      expect(model.refused).toBe(1);
    });

    it('is sent again as it is made, after an upstream has refused what nobody could know', async () => {
      const { agent, sent } = agentOf(dialect, stream, {
        memory_strategy: { mode: 'compact', token_budget: 100_000 },
      });
      await agent.turn('What does number 1 weigh?');
      const system = agent.array[0];
      if (dialect === 'responses') {
        await agent.turn('What does number 2 weigh?', { instructions: 'You weigh all things.' });
        await agent.turn('What does number 3 weigh?', { instructions: 'You weigh all things.' });
      } else {
        agent.array[0] = { ...system, content: 'You weigh all things.' };
        await agent.turn('What does number 2 weigh?');
        await agent.turn('What does number 3 weigh?');
      }
      expect(model.refused).toBe(1);
      expect(blocksIn(sent().at(-1)?.body ?? {})).toHaveLength(2 * STEPS + 1);
    });
  },
);

inTurn(
  [true, false],
  (keep_rounds) => `all that Precis sends for a caller (keep_rounds: ${keep_rounds})`,
  (keep_rounds) => {
    const named = { safety_identifier: 'a weigher', user: 'u' };
    const settings = { reasoning: { effort: 'high' }, text: { verbosity: 'low', format: { type: 'text' } } };
    it.each<[what: string, strategy: Json]>([
      ['rounds', { mode: 'compact', token_budget: 12_000, low_watermark_pct: 0.5 }],
      ['rounds and summaries', { mode: 'auto', token_budget: 8_000, context_window_tokens: 12_000 }],
    ])('has the same tools, effort, format and user from the first request on, through %s', async (_, of) => {
      const memory_strategy = { ...of, compact_retrieval: 'tool', keep_rounds };
      const fields = { model: 'gpt-6.2-sol', ...named, ...settings, memory_strategy };
      const { agent, sent } = agentOf('responses', 'in turn', fields);
      const answers: Answered[] = [];
      for (let turn = 31; turn <= 35; turn++)
        answers.push(...(await agent.turn(`What does number ${turn} weigh?`)));

      expect(answers.some(isMove)).toBe(true);
      const rounds = answers.reduce((sum, { memory }) => sum + (memory.retrieval?.rounds ?? 0), 0);
      expect(rounds).toBeGreaterThan(1);
      const bodies = sent().map(({ body }) => body);
      expect(bodies).toHaveLength(answers.length + rounds);
      const kept = bodies.map(({ model, tools, reasoning, text, safety_identifier, user }) =>
        JSON.stringify({ model, tools, reasoning, text, safety_identifier, user }),
      );
      expect(new Set(kept)).toEqual(new Set([kept[0]]));
      expect(kept[0]).toContain('"retrieve_ref"');
      expect(bodies[0]).toMatchObject({ ...settings, safety_identifier: 'a weigher' });
      // So nothing was dropped that Precis has sent.
      expect([model.refused, model.dropped]).toEqual([0, 0]);
    });
  },
);
