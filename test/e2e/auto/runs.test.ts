import { describe, expect, it } from 'vitest';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import {
  AgentCaller,
  brokenPrefixes,
  lostContents,
  refsIn,
  type Sent,
  wrongReport,
} from '../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf, type Message, observedRun, tools } from '../../support/clients/agent-run.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { PROTOCOLS, type Protocol } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true });

interface Run {
  readonly messages: Message[];
  readonly strategy: object;
  readonly stream?: boolean;
}

/** A run, all its requests, and the content lost during it. */
interface Played {
  readonly all: readonly Sent[];
  readonly lost: readonly string[];
}

const RUNS: [name: string, run: Run][] = [
  [
    'a large budget',
    {
      messages: agentRun('large budgets'),
      strategy: { token_budget: 16_000, min_reclaim_tokens: 2_000 },
      stream: true,
    },
  ],
  [
    'a small budget',
    { messages: agentRun('small budgets'), strategy: { token_budget: 8_000, min_reclaim_tokens: 0 } },
  ],
  [
    'a soft budget',
    { messages: agentRun('soft budgets'), strategy: { token_soft_budget: 8_000, token_budget: 1_000_000 } },
  ],
  [
    'observations in user messages',
    { messages: observedRun('observations'), strategy: { token_budget: 12_000, min_reclaim_tokens: 1_000 } },
  ],
  [
    'a frontier that slides',
    { messages: agentRun('slides'), strategy: { token_budget: 12_000, frontier: 'slide' } },
  ],
];

/**
 * Two of them over the Responses API: the others test the plan, which does not know the protocol.
 */
const runsOver = ({ name }: Protocol): typeof RUNS => (name === 'chat' ? RUNS : RUNS.slice(0, 2));

const plays = new Map<string, Promise<Played>>();

/** Sends the growing array, once for all tests, and fetches each ref as soon as a view names it. */
function play(name: string): Promise<Played> {
  const run = RUNS.find((one) => one[0] === name)?.[1];
  if (!run) throw new Error(`there is no run with ${name}`);
  const key = `${name}, over ${deployment.protocol.name}`;
  const played = plays.get(key) ?? playOnce(run);
  plays.set(key, played);
  return played;
}

async function playOnce({ messages, strategy, stream = false }: Run): Promise<Played> {
  const caller = new AgentCaller(deployment, { memory_strategy: { mode: 'auto', ...strategy }, stream });
  const all: Sent[] = [];
  const lost: string[] = [];
  const known = new Set<string>();
  for (const length of lengthsOf(messages)) {
    const sent = await caller.send(messages.slice(0, length));
    lost.push(...(await lostContents(sent, deployment, known)));
    all.push(sent);
  }
  return { all, lost };
}

const appliedIn = ({ all }: Played): string[] =>
  all.flatMap(({ memory }) => memory.applied_edits.map(({ type }) => type));

describe.each(PROTOCOLS)('a long run of an agent in mode auto, over $name', (protocol) => {
  deployment.over(protocol);
  describe.each(runsOver(protocol))('with %s', (name, { messages }) => {
    it('is answered at every request, since every view is one that OpenAI takes', async () => {
      const { all } = await play(name);

      expect(all).toHaveLength(lengthsOf(messages).length);
      expect(new Set(all.map(({ answer }) => answer))).toEqual(
        new Set(['This is what the upstream has to say.']),
      );
      expect(all.flatMap(({ seen }) => violations({ ...seen.body, tools }, { jsonArguments: true }))).toEqual(
        [],
      );
    });

    it('has each view begin with the one before, except where the frontier moved', async () => {
      const { all } = await play(name);

      expect(brokenPrefixes(all)).toEqual([]);
      expect(all.filter(({ memory }) => memory.frontier.moved).length).toBeGreaterThan(1);
    });

    it('keeps its last three steps, and what the model has not seen yet', async () => {
      const { all } = await play(name);

      for (const { messages: sent, view } of all) {
        const answers = sent.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
        const tail = sent.slice(answers.at(-3) ?? 1);
        const seen = view.slice(-tail.length);
        // The user's request of the turn may be among them, and may begin with a summary.
        for (const [at, message] of tail.entries())
          if (message.role !== 'user' || String(message.content).startsWith('Observation'))
            expect(seen[at]).toEqual(message);
      }
    });

    it('keeps its tools and its preamble', async () => {
      const { all } = await play(name);

      for (const { seen, view } of all) {
        expect(seen.body.tools).toEqual(protocol.body({ tools }).tools);
        expect(view[0]).toEqual(messages[0]);
      }
    });

    it('gives back all that a view leaves out, as it was', async () => {
      const { lost } = await play(name);

      expect(lost).toEqual([]);
    });

    it('is reported as it was', async () => {
      const { all } = await play(name);

      expect(all.flatMap(wrongReport)).toEqual([]);
      for (const { memory } of all)
        expect(memory.warnings.filter((warning) => !['over_budget', 'waiting'].includes(warning))).toEqual(
          [],
        );
    });

    it('lists its refs', async () => {
      const { all } = await play(name);

      const response = await deployment.fetch('/v1/refs?limit=1000');
      const { data } = (await response.json()) as { data: { id: string }[] };
      const listed = new Set(data.map(({ id }) => id));
      expect(all.flatMap(({ view }) => refsIn(view)).filter((ref) => !listed.has(ref))).toEqual([]);
    });
  });
});

describe.each(PROTOCOLS)('the edits of a long run in mode auto, over $name', (protocol) => {
  deployment.over(protocol);
  it('are of all kinds', async () => {
    const applied = new Set(appliedIn(await play('a large budget')));

    expect([...applied]).toEqual(expect.arrayContaining(['offload', 'dedupe', 'compact', 'summarize']));
  });

  it('are summaries rather than trims where moves cost nothing', async () => {
    expect(appliedIn(await play('a small budget'))).toContain('summarize');
  });
});

describe('the edits of a long run under a soft budget', () => {
  it('lose nothing', async () => {
    const played = await play('a soft budget');

    expect(new Set(appliedIn(played))).toEqual(new Set(['offload', 'dedupe', 'compact']));
    for (const { view, messages } of played.all) expect(view).toHaveLength(messages.length);
  });
});
