/**
 * Generated conversations with a model that binds its thinking: each turn may change what precedes
 * it, in every way that a caller has.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import type { Behaviour } from '../../../tools/upstream/behaviours.ts';
import { blocksIn, type Dialect } from '../../../tools/upstream/bound-thinking.ts';
import {
  type SigningModel,
  signingModel,
  THOUGHT,
  thoughtTokens,
} from '../../../tools/upstream/signing-model.ts';
import { ThinkingAgent, workingModel } from '../../support/clients/thinking-agent.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { forAllAsync, runs } from '../../support/laws/runs.ts';

const RUNS = { numRuns: runs(4, 8), endOnFailure: true };
const STEPS = 2;

let model: SigningModel;
const behaviour: Behaviour = (...given) => {
  if (typeof model.behaviour === 'function') model.behaviour(...given);
};
const deployment = deploy({
  summarizer: true,
  upstream: { strict: { lenientFields: true }, chat: behaviour },
});

const RETRIEVAL = { compact_retrieval: 'tool', low_watermark_pct: 0.5 };
const PATIENT = { mode: 'auto', token_budget: 7_000, context_window_tokens: 12_000 };
/** A quarter over its budget. */
const LATE = 1.25 * PATIENT.token_budget;
const STRATEGIES: readonly object[] = [
  PATIENT,
  { mode: 'auto', token_budget: 7_000, min_reclaim_tokens: 0, compact_retrieval: 'off' },
  { mode: 'compact', token_budget: 6_000 },
  { mode: 'compact', token_budget: 9_000, ...RETRIEVAL },
  { mode: 'compact', token_budget: 9_000, ...RETRIEVAL, keep_rounds: false },
  { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 },
  { mode: 'summarize', context_limit: 2, keep_last_n_turns: 1 },
  { mode: 'trim', max_turns: 3, keep_last_n_turns: 1 },
  { mode: 'rolling_summary', summarize_after_seq: 1, full_zone_turns: 1 },
];

/** What a caller does before a turn. */
type Change =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'write a block' }
  | { readonly kind: 'refresh' }
  | { readonly kind: 'limit'; readonly tokens: number }
  | { readonly kind: 'strategy'; readonly strategy: object }
  | { readonly kind: 'fork'; readonly back: number };

const strategy = fc.constantFrom(...STRATEGIES);
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Change>({ kind: 'nothing' }) },
  fc.constant<Change>({ kind: 'write a block' }),
  fc.constant<Change>({ kind: 'refresh' }),
  fc.constantFrom(200, 3_000).map((tokens): Change => ({ kind: 'limit', tokens })),
  strategy.map((changed): Change => ({ kind: 'strategy', strategy: changed })),
  fc.integer({ min: 1, max: 2 }).map((back): Change => ({ kind: 'fork', back })),
);

const run = fc.record({
  memory_strategy: strategy,
  blocks: fc.boolean(),
  injection: fc.boolean(),
  changes: fc.array(change, { minLength: 4, maxLength: 7 }),
});

/** Of an API: by whom its thinking comes, or which model binds it. */
const FORMS: readonly (readonly (readonly [dialect: Dialect, model: string])[])[] = [
  [
    ['openrouter', 'claude-fable-5.2'],
    ['litellm', 'claude-fable-5.2'],
  ],
  [
    ['responses', 'claude-fable-5.2'],
    ['responses', 'gpt-6.2-sol'],
  ],
];

let conversations = 0;

// What an edit costs is planned for all models that bind their thinking.
for (const forms of FORMS)
  inTurn(
    forms,
    ([dialect, name]) => `every conversation with thinking by ${dialect}, of ${name},`,
    ([dialect, name]) => {
      it('has no thinking that is refused or dropped, and some that stays', async () => {
        let kept = 0;
        let dropped = 0;
        await forAllAsync(RUNS, run, async ({ memory_strategy, blocks, injection, changes }) => {
          model = signingModel({ dialect, answer: workingModel(STEPS), drops: name.startsWith('gpt') });
          const id = ++conversations;
          const label = `of-law-${id}`;
          const write = (text: string) =>
            deployment.fetch(`/v1/blocks/${label}`, { method: 'PUT', body: JSON.stringify({ text }) });
          if (blocks) await write('Weigh twice.');
          let fields: Record<string, unknown> = {
            model: name,
            conversation_id: `law-${id}`,
            user: 'weigher',
            memory_strategy,
            ...(blocks ? { memory_blocks: { labels: [label] } } : {}),
            ...(injection ? { memory_injection: true } : {}),
          };
          const agent = new ThinkingAgent(deployment.client(), {
            dialect,
            stream: 'in turn',
            fields: {},
            lines: 50,
          });
          const snapshots: (typeof agent.array)[] = [];
          const before = deployment.upstream.requests.length;

          for (const [turn, changed] of changes.entries()) {
            snapshots.push([...agent.array]);
            let once = {};
            if (changed.kind === 'write a block' && blocks) await write(`Weigh ${turn} times.`);
            if (changed.kind === 'refresh' && blocks)
              once = { memory_blocks: { labels: [label], refresh: true } };
            if (changed.kind === 'refresh' && injection)
              once = { ...once, memory_injection: { refresh: true } };
            if (changed.kind === 'limit')
              once = { [dialect === 'responses' ? 'max_output_tokens' : 'max_tokens']: changed.tokens };
            if (changed.kind === 'strategy') fields = { ...fields, memory_strategy: changed.strategy };
            if (changed.kind === 'fork') {
              const point = snapshots.at(-1 - changed.back);
              if (point) agent.array.splice(0, agent.array.length, ...point);
            }
            const asked = turn * 10 + 1;
            let left: number | undefined;
            let last: Report | undefined;
            for (const { memory } of await agent.turn(`What does number ${asked} weigh?`, {
              ...fields,
              ...once,
            })) {
              const { dropped_thinking_blocks: now = 0, reasoning_dropped } = memory;
              if (now > 0) dropped++;
              // Within a turn, a loss is reported where it happens, and nowhere else.
              if (left !== undefined && now <= left) expect(reasoning_dropped).toBeUndefined();
              else if (left !== undefined) expect(reasoning_dropped?.blocks).toBe(now - left);
              // Inside of a turn, a move waits while there is room.
              const isPatient = fields.memory_strategy === PATIENT && last?.retrieval === undefined;
              if (isPatient && memory.tokens && last?.tokens && reasoning_dropped?.cause === 'move')
                expect(last.tokens.after + memory.tokens.before - last.tokens.before).toBeGreaterThan(LATE);
              left = now;
              last = memory;
            }
          }

          const sent = deployment.upstream.requests
            .slice(before)
            .filter(({ path }) => /completions|responses/.test(path));
          kept += sent.filter(({ body }) => blocksIn(body).length > 0).length;
          expect(model.refused).toBe(0);
        });
        expect(kept).toBeGreaterThan(10);
        expect(dropped).toBeGreaterThan(3);
      });
    },
  );

/** Beside messages. Each turn has another one. */
const SETTINGS = ['effort', 'format', 'user', 'tools', 'model'] as const;

function settingOf(name: (typeof SETTINGS)[number], turn: number): Record<string, unknown> {
  if (name === 'effort') return { reasoning: { effort: turn % 2 === 0 ? 'low' : 'high' } };
  if (name === 'format') return { text: { verbosity: turn % 2 === 0 ? 'low' : 'high' } };
  if (name === 'user') return { user: `u${turn}` };
  if (name === 'model') return { model: `gpt-6.2-${turn % 2 === 0 ? 'luna' : 'terra'}` };
  const tool = { type: 'function', name: `look_${turn}`, parameters: { type: 'object' }, strict: false };
  return { tools: [tool] };
}

// Which block is lost is settled before the answer comes.
inTurn(
  [false, true],
  (stream) => `a caller who edits what a model has answered to (stream: ${stream})`,
  (stream) => {
    it('has the report of each block that is lost, at the answer before which the model thinks longer', async () => {
      let lost = 0;
      let named = 0;
      const settings = fc.constantFrom(...SETTINGS);
      const edit = fc.option(fc.oneof(fc.nat({ max: 9 }), settings));
      const edits = fc.array(edit, { minLength: 3, maxLength: 5 });
      await forAllAsync(RUNS, edits, async (edited) => {
        model = signingModel({ dialect: 'responses', answer: workingModel(STEPS), drops: true });
        const fields = {
          model: 'gpt-6.2-sol',
          conversation_id: `edited-${++conversations}`,
          safety_identifier: 'a weigher',
          memory_strategy: { mode: 'auto', token_budget: 100_000 },
        };
        const client = deployment.client();
        const agent = new ThinkingAgent(client, { dialect: 'responses', stream, fields, lines: 5 });
        let reported = 0;
        let asked = 0;
        let more = {};
        for (const [turn, chosen] of edited.entries()) {
          const said = agent.array.filter(({ role }) => role === 'user');
          const message = typeof chosen === 'number' ? said[chosen % said.length] : undefined;
          if (message) message.content = `${message.content} Say it in ${turn} words.`;
          if (typeof chosen === 'string') more = { ...more, ...settingOf(chosen, turn) };
          const edited = typeof chosen === 'string' ? chosen : 'message';
          for (const { memory, thought = 0 } of await agent.turn(`What does number ${turn} weigh?`, more)) {
            const { cause, blocks = 0 } = memory.reasoning_dropped ?? {};
            expect(cause).toBe(thought > thoughtTokens(THOUGHT) ? edited : undefined);
            reported += blocks;
            asked++;
          }
        }
        expect(reported).toBe(model.dropped);
        // In most events the model has said so itself.
        const path = `/v1/conversations/${fields.conversation_id}/requests?limit=100&user=a+weigher`;
        let events: RunEvent[] = [];
        await until('all events are kept', async () => {
          events = ((await (await deployment.fetch(path)).json()) as { data: RunEvent[] }).data;
          return events.length === asked;
        });
        const losses = events.flatMap(({ reasoning_dropped }) => reasoning_dropped ?? []);
        const counted = losses.reduce((sum, { blocks }) => sum + blocks, 0);
        // The model names all that a request has lost, and so what is valid again can hide as much.
        expect(counted).toBeLessThanOrEqual(model.dropped);
        expect(counted).toBeGreaterThanOrEqual(model.dropped - model.regained);
        lost += reported;
        named += losses.filter(({ by }) => by === 'vendor').length;
      });
      expect(lost).toBeGreaterThan(3);
      expect(named).toBeGreaterThan(0);
    });
  },
);
