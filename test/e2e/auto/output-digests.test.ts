import { describe, expect, it } from 'vitest';
import {
  assistant,
  calls,
  lines,
  type Message,
  result,
  system,
  user,
} from '../../support/conversations/chat.ts';
import { type Asked, type Deployment, deploy } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols, PROTOCOLS } from '../../support/deployment/protocol.ts';
import { type Manner, type Reading, tokensIn, UNWANTED } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true, limits: { summaryBackoffMs: 20 } });
/** Its summarizer may take longer than a request waits. */
const hasty = deploy({
  summarizer: true,
  vars: { SUMMARIZER_TIMEOUT_MS: '20000', OFFLOAD_DIGEST_WAIT_MS: '500' },
});

const LOGS = {
  type: 'function',
  function: { name: 'logs', parameters: { type: 'object', properties: { of: { type: 'string' } } } },
};
const strategy = {
  mode: 'auto',
  offload_min_tokens: 1_000,
  offload_fresh_tokens: 1_000,
  offload_digest: 'model',
};
const fields = { model: 'gpt-4.1', tools: [LOGS], memory_strategy: strategy };

const outputOf = (topic: string, count = 200): string => lines(count, `The ${topic}`);
const read = (topic: string, id = 'call_1', count = 200): Message[] => [
  calls([id, 'logs', JSON.stringify({ of: topic })]),
  result(id, outputOf(topic, count)),
];
/** A request whose last message is a large output that the model has not seen. */
const fresh = (topic: string): Message[] => [
  system('You read logs.'),
  user(`Which of the ${topic} is the last?`),
  ...read(topic),
];
/** The next requests of the same conversation. */
const later = (topic: string): Message[][] => {
  const answered = [...fresh(topic), assistant('The last one.'), user('And before that?')];
  return [answered, [...answered, ...read(`${topic} again`, 'call_2', 3)]];
};

const viewOf = ({ seen }: Asked): Message[] => seen.body.messages as Message[];
/** The output as the model sees it. */
const shownIn = (asked: Asked): string => String(viewOf(asked).find(({ role }) => role === 'tool')?.content);
const LINE =
  /^⟦removed: tool output for logs \(call_id=call_1\); reason=offloaded; ref=(ref_\w+); tokens=\d+⟧$/m;

/** The usage that a summarizer has stated, as reports have it. */
function usageOf(reading: Reading | undefined): object {
  const { prompt_tokens, completion_tokens, total_tokens } = reading?.usage ?? {};
  return { prompt_tokens, completion_tokens, total_tokens, cost: expect.any(Number) };
}

/** Head, marker, preview and tail. */
function expectPreview(asked: Asked, topic: string): void {
  const shown = shownIn(asked);
  expect(shown).toMatch(LINE);
  expect(shown.startsWith(`The ${topic} 0: value 0\n`)).toBe(true);
  expect(shown.endsWith(outputOf(topic).split('\n').at(-1) ?? '')).toBe(true);
  expect(shown).not.toContain('digest:');
}

const FORMS = PROTOCOLS.flatMap((protocol) =>
  [false, true].map((stream) => ({ protocol, name: protocol.name, stream })),
);

inTurn(
  FORMS,
  ({ name, stream }) => `a digest of a large output, over ${name}, streaming: ${stream},`,
  ({ protocol, name, stream }) => {
    deployment.over(protocol);
    hasty.over(protocol);
    const ask = (messages: Message[], more: object = {}, of: Deployment = deployment) =>
      of.ask({ ...fields, stream, ...more, messages });
    const topicOf = (what: string): string => `${what} ${name} ${stream}`;

    it('is in its placeholder from its first request on', async () => {
      const topic = topicOf('apples');
      const asked = await ask(fresh(topic));

      const { readings } = deployment.summarizer;
      expect(readings).toHaveLength(1);
      const [reading] = readings;
      const [line, words] = shownIn(asked).split('\n');
      expect(line).toMatch(LINE);
      expect(words).toBe(`digest: An output of 200 lines, read for ${reading?.token}.`);
      expect(asked.memory.applied_edits).toEqual([
        expect.objectContaining({
          type: 'offload',
          cleared_tool_results: 1,
          digests: 1,
          usage: usageOf(reading),
        }),
      ]);
      expect(asked.memory.warnings).toEqual([]);
      for (const next of later(topic)) {
        const again = await ask(next);
        expect(shownIn(again)).toBe(shownIn(asked));
        expect(again.memory.applied_edits[0]).not.toHaveProperty('usage');
        expect(again.memory.applied_edits[0]).toMatchObject({ type: 'offload', digests: 1 });
      }
      expect(readings).toHaveLength(1);
      const ref = LINE.exec(shownIn(asked))?.[1];
      const kept = await deployment.fetch(`/v1/refs/${ref}`);
      expect(await kept.text()).toBe(outputOf(topic));
    });

    it('is written for the request and the call', async () => {
      const topic = topicOf('pears');
      await ask(fresh(topic));

      const { request, output } = deployment.summarizer.lastReading();
      const prompt = String(request.body.messages.at(-1).content);
      expect(output).toBe(outputOf(topic));
      expect(prompt).toContain(`Which of the ${topic} is the last?`);
      expect(prompt).toContain(`logs {"of":"${topic}"}`);
      expect(prompt).not.toContain('You read logs.');
    });

    const BAD: Manner[] = ['refusal', 'empty text', 'tool call', 'too long', 'length limit', 'loop', 'hang'];
    it.each(BAD)('is never made after %s: the preview stays', async (manner) => {
      const topic = topicOf(`figs (${manner})`);
      const of = manner === 'hang' ? hasty : deployment;
      of.summarizer.always(manner);
      const asked = await ask(fresh(topic), {}, of);
      await until('the summarizer is asked', () => of.summarizer.readings.length > 0);
      const { length } = of.summarizer.readings;
      of.summarizer.always('summary');

      expectPreview(asked, topic);
      expect(asked.memory.warnings).toEqual(['summary_degraded']);
      expect(asked.memory.applied_edits[0]).not.toHaveProperty('digests');
      expect(asked.seen.rawBody.toString()).not.toContain(UNWANTED);
      for (const next of [fresh(topic), ...later(topic)]) {
        const again = await ask(next, {}, of);
        expect(shownIn(again)).toBe(shownIn(asked));
        expect(again.memory.warnings).toEqual([]);
      }
      expect(of.summarizer.readings).toHaveLength(length);
    });

    it("is made anew for another tenant, and never shows this one's", async () => {
      const topic = topicOf('plums');
      const own = await ask(fresh(topic));
      const other = { authorization: `Bearer ${protocol.key('sk-another-tenant-of-digests-0001')}` };
      const theirs = await deployment.ask({ ...fields, stream, messages: fresh(topic) }, other);

      const { readings } = deployment.summarizer;
      expect(readings).toHaveLength(2);
      expect(tokensIn(shownIn(own))).toEqual([readings[0]?.token]);
      expect(tokensIn(shownIn(theirs))).toEqual([readings[1]?.token]);
    });
  },
);

overProtocols('digests of large outputs', [deployment, hasty], (protocol) => {
  const ask = (messages: Message[], more: object = {}) => deployment.ask({ ...fields, ...more, messages });

  it('leave the preview if the summarizer is late, for good', async () => {
    hasty.summarizer.next('held');
    const topic = `apples, late, ${protocol.name}`;
    const asked = await hasty.ask({ ...fields, messages: fresh(topic) });
    await until('the summarizer is asked', () => hasty.summarizer.readings.length > 0);
    hasty.summarizer.release();
    const again = await hasty.ask({ ...fields, messages: later(topic)[0] ?? [] });

    expectPreview(asked, topic);
    expect(asked.memory.warnings).toEqual(['summary_degraded']);
    expect(shownIn(again)).toBe(shownIn(asked));
    expect(hasty.summarizer.readings).toHaveLength(1);
  });

  it('are not asked for while the summarizer rests after an outage', async () => {
    const topic = `sloes, ${protocol.name}`;
    deployment.summarizer.always('refusal');
    await ask(fresh(topic));
    deployment.summarizer.always('summary');
    const grown = [...fresh(topic), ...read(`${topic} again`, 'call_2')];
    const rested = await ask(grown);
    const again = await ask([...grown, assistant('The last one.'), user('Well?')]);

    expect(deployment.summarizer.readings).toHaveLength(1);
    expect(rested.memory.warnings).toEqual(['summary_degraded']);
    expect(JSON.stringify(viewOf(rested))).not.toContain('digest:');
    expect(viewOf(again).slice(0, grown.length)).toEqual(viewOf(rested));
  });

  it('are made of each output of a request', async () => {
    const topics = Array.from({ length: 8 }, (_, at) => `cherries ${at}, ${protocol.name}`);
    const made = topics.map((topic, at): [string, string, string] => [
      `call_${at}`,
      'logs',
      JSON.stringify({ of: topic }),
    ]);
    const results = topics.map((topic, at) => result(`call_${at}`, outputOf(topic)));
    const asked = await ask([user('Read all.'), calls(...made), ...results]);

    const shown = viewOf(asked).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
    expect(deployment.summarizer.readings).toHaveLength(8);
    expect(new Set(shown.flatMap(tokensIn))).toHaveProperty('size', 8);
    expect(asked.memory.applied_edits).toEqual([
      expect.objectContaining({ cleared_tool_results: 8, digests: 8 }),
    ]);
  });

  it('are not made of outputs that were shown before', async () => {
    const topic = `quinces, ${protocol.name}`;
    const before = { ...strategy, offload_digest: 'preview' };
    const asked = await ask(fresh(topic), { memory_strategy: before });
    const [next = [], last = []] = later(topic);
    const switched = await ask(next);
    // The answer is asked for again, so the output is the last message again.
    const again = await ask(fresh(topic));

    expectPreview(asked, topic);
    for (const one of [switched, again, await ask(last)]) expect(shownIn(one)).toBe(shownIn(asked));
    expect(deployment.summarizer.readings).toEqual([]);
  });

  it('forge no marker and name no ref', async () => {
    const topic = `medlars, ${protocol.name}`;
    deployment.summarizer.always('forged tags');
    const asked = await ask(fresh(topic));

    expect(shownIn(asked)).toContain('\ndigest: ');
    expect(shownIn(asked).match(/⟦removed:/g)).toHaveLength(1);
    expect(shownIn(asked)).not.toContain('<session_summary');
  });

  it('are made when the frontier passes an output, if the model can fetch nothing', async () => {
    const topic = `grapes, ${protocol.name}`;
    const memory_strategy = { ...strategy, token_soft_budget: 3_000, compact_keep: 1, min_reclaim_tokens: 0 };
    const more = { memory_strategy, tools: undefined };
    const seen = await ask(fresh(topic), more);
    const grown = [...fresh(topic), assistant('The last one.'), user(lines(150, 'Look at'))];
    const moved = await ask(grown, more);
    const after = await ask([...grown, assistant('Yes.'), user('Well?')], more);

    expect(shownIn(seen)).toBe(outputOf(topic));
    expect(moved.memory.frontier.moved).toBe(true);
    expect(shownIn(moved)).toContain('\ndigest: An output of 200 lines');
    expect(shownIn(after)).toBe(shownIn(moved));
    expect(deployment.summarizer.readings).toHaveLength(1);
  });
});

describe('POST /v1/compact with digests', () => {
  const compact = async (messages: Message[], more: object = {}) => {
    const body = JSON.stringify({ ...fields, ...more, messages });
    const response = await deployment.fetch('/v1/compact', { method: 'POST', body });
    expect(response.status).toBe(200);
    const { messages: view } = (await response.json()) as { messages: Message[] };
    return String(view.find(({ role }) => role === 'tool')?.content);
  };

  it('asks no model in a dry run, and shows the digest that a request has got', async () => {
    const topic = 'apples of the route';
    const dry = await compact(fresh(topic), { dry_run: true });
    expect(deployment.summarizer.readings).toEqual([]);
    const asked = await deployment.ask({ ...fields, messages: fresh(topic) });
    const known = await compact(fresh(topic), { dry_run: true });

    expect(dry).not.toContain('digest:');
    expect(shownIn(asked)).toContain('digest:');
    expect(known).toBe(shownIn(asked));
    expect(await compact(fresh(topic))).toBe(known);
    expect(deployment.summarizer.readings).toHaveLength(1);
  });

  it('gives a digest that is left as it is when it comes back', async () => {
    const topic = 'pears of the route';
    const shown = await compact(fresh(topic));
    const messages = [...fresh(topic).slice(0, -1), result('call_1', shown)];
    const asked = await deployment.ask({ ...fields, messages });

    expect(shown).toContain('digest:');
    expect(shownIn(asked)).toBe(shown);
  });
});

describe('a conversation whose memory is deleted', () => {
  it('loses its digests, and shows previews', async () => {
    const topic = 'apples to be deleted';
    const named = { ...fields, conversation_id: 'digests to be deleted' };
    const asked = await deployment.ask({ ...named, messages: fresh(topic) });
    const path = `/v1/conversations/${encodeURIComponent(named.conversation_id)}/memory`;
    const deleted = await deployment.fetch(path, { method: 'DELETE' });
    const after = await deployment.ask({ ...named, messages: later(topic)[0] ?? [] });

    expect(shownIn(asked)).toContain('digest:');
    expect(deleted.ok).toBe(true);
    expectPreview(after, topic);
    expect(deployment.summarizer.readings).toHaveLength(1);
  });
});
