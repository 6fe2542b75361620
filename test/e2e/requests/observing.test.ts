import { expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { tokensOf } from '../../../tools/upstream/behaviours.ts';
import { assistant, user } from '../../support/conversations/chat.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });
const observing = deploy({ vars: { OBSERVE: 'true', DEFAULT_MEMORY_STRATEGY: 'compact' } });
const sharing = deploy({ vars: { OBSERVE_SHARE: '0.5' } });

const { model, tools } = recording;

const STRATEGIES = {
  compact: { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5 },
  auto: { mode: 'auto', token_budget: 24_000, compact_retrieval: 'off' },
  trim: { mode: 'trim', max_turns: 2, keep_last_n_turns: 1 },
};

overProtocols('a request that is observed', [deployment, observing, sharing], (protocol) => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])('is sent byte for byte, and its answer comes back %s', async (_, stream) => {
    const fields = { model, tools, messages: recording.messages.slice(0, 54), stream };
    const body = JSON.stringify(protocol.body(fields as Record<string, unknown>));

    const response = await deployment.wire(body, {
      'x-memory-strategy': JSON.stringify(STRATEGIES.compact),
      'x-memory-observe': 'true',
    });
    await response.text();

    expect(response.status).toBe(200);
    expect(deployment.upstream.requests.at(-1)?.rawBody.toString()).toBe(body);
    expect(response.headers.get('x-memory-mode')).toBe('compact');
    expect(response.headers.get('x-memory-applied')).toBe('none');
    expect(Number(response.headers.get('x-memory-potential-after'))).toBeLessThan(
      Number(response.headers.get('x-memory-potential-before')),
    );
  });

  it.each(Object.entries(STRATEGIES))('learns what %s would have done, to the token', async (_, strategy) => {
    for (const length of [28, 43, 54]) {
      const fields = { model, tools, messages: recording.messages.slice(0, length) as object[] };

      const observed = await deployment.ask({ ...fields, memory_strategy: { ...strategy, observe: true } });
      const done = await deployment.ask({ ...fields, memory_strategy: strategy });

      const { trigger, tokens, frontier, applied_edits, refs, warnings } = done.memory;
      expect(observed.memory).toMatchObject({ mode: strategy.mode, applied_edits: [], refs: [] });
      const { bill, ...potential } = observed.memory.potential ?? {};
      expect(bill).not.toBeUndefined();
      expect(potential).toEqual({
        trigger,
        tokens,
        frontier,
        applied_edits,
        refs: refs.length,
        warnings,
      });
      expect(observed.seen.body.messages).toEqual(
        protocol.read(fields.messages as Record<string, unknown>[]),
      );
    }
  });

  it.each([
    ['whole', {}],
    ['streamed', { stream: true, stream_options: { include_usage: true } }],
  ])('learns what it has cost, and what its view would have, in an answer that comes %s', async (_, form) => {
    const messages: object[] = recording.messages.slice(0, 54);
    const strategy = { ...STRATEGIES.compact, observe: true };
    const fields = { model: 'gpt-4.1', tools, messages, ...(protocol.name === 'chat' ? form : {}) };
    const { memory, seen } = await deployment.ask({ ...fields, memory_strategy: strategy });

    const { tokens, bill } = memory.potential ?? {};
    const input = tokensOf(seen);
    const price = ({ fresh = 0, cached = 0, output = 0 } = {}) =>
      fresh * 2_000 + cached * 500 + output * 8_000;
    expect(bill?.sent).toMatchObject({ fresh: input, cached: 0, amount: price(bill?.sent ?? {}) });
    const view = Math.round((input * (tokens?.after ?? 0)) / (tokens?.before ?? 1));
    expect(bill?.would_be).toMatchObject({ fresh: view, cached: 0, amount: price(bill?.would_be ?? {}) });
    expect(bill?.net).toBe((input - view) * 2_000);
  });

  it('has no bill if its model has no price', async () => {
    const messages = conversationOf([linesAbout(`an unknown price over ${protocol.name}`)]);
    const observed = {
      model: 'my-model',
      messages,
      memory_strategy: { ...COMPACT_OLD_TURNS, observe: true },
    };
    expect((await deployment.ask(observed)).memory.potential?.bill).toBeNull();
  });

  it('stores nothing, and asks no summarizer', async () => {
    const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2, observe: true };
    const { memory } = await deployment.ask({
      model,
      messages: conversation(`observed over ${protocol.name}`, 6),
      memory_strategy: strategy,
    });
    expect(memory.potential?.applied_edits).toMatchObject([{ type: 'summarize' }]);
    expect(deployment.summarizer.requests).toEqual([]);

    const messages = conversationOf([linesAbout(`what is only observed over ${protocol.name}`)]);
    const observed = { model, messages, memory_strategy: { ...COMPACT_OLD_TURNS, observe: true } };
    expect((await deployment.ask(observed)).memory.potential?.refs).toBe(1);
    const explained = await deployment.postTo(
      '/v1/explain',
      protocol.body({ ...observed, memory_strategy: COMPACT_OLD_TURNS }),
    );
    const { memory: planned } = (await explained.json()) as typeof observed & { memory: typeof memory };
    expect(planned.refs).toHaveLength(1);
    expect((await deployment.fetch(`/v1/refs/${planned.refs[0]?.ref}`)).status).toBe(404);
  });

  it('is not refused for what its strategy would have been refused for', async () => {
    const strategy = { mode: 'summarize', summarizer_model: 'a-model-that-nobody-allows' };
    const messages = conversation('observed and refused', 6);
    const refused = await deployment.chat({ model, messages, memory_strategy: strategy });
    const { error } = (await refused.json()) as { error: { code: string } };

    const { memory } = await deployment.ask({
      model,
      messages,
      memory_strategy: { ...strategy, observe: true },
    });

    expect(refused.status).toBe(400);
    expect(memory.potential).toMatchObject({ error: error.code, trigger: 'none', applied_edits: [] });
  });

  it('gets the upstream’s own refusal of its length, once', async () => {
    deployment.upstream.next({ type: 'window', tokens: 1_000 });
    const response = await deployment.chat({
      model,
      messages: recording.messages.slice(0, 54),
      tools,
      memory_strategy: { ...STRATEGIES.compact, observe: true },
    });

    expect(response.status).toBe(400);
    expect(deployment.chats()).toHaveLength(1);
  });

  it('shows and offers nothing in any mode', async () => {
    const fields = {
      model,
      messages: conversationOf(['short']),
      memory_blocks: { labels: ['team'], writable: true },
    };
    const { memory_blocks: _, ...came } = fields;

    for (const memory_strategy of ['none', 'native']) {
      const { memory, seen } = await observing.ask({ ...fields, memory_strategy });

      expect(seen.rawBody.toString()).toBe(JSON.stringify(protocol.body(came as Record<string, unknown>)));
      expect(memory).toMatchObject({ mode: memory_strategy, applied_edits: [] });
      expect(memory.memory_blocks).toBeUndefined();
    }
  });

  it('is every request of a deployment that observes', async () => {
    const { memory, seen } = await observing.ask({
      model,
      messages: conversationOf([linesAbout('a deployment that observes')]),
      memory_strategy: COMPACT_OLD_TURNS,
    });

    expect(memory.potential?.refs).toBe(1);
    expect(JSON.stringify(seen.body)).not.toContain('⟦removed: ');
  });

  it('is every request of the conversations in the control group, and of no others', async () => {
    const isObserved = async (fields: object, extra: object[] = []): Promise<boolean> => {
      const { memory } = await sharing.ask({
        model,
        memory_strategy: COMPACT_OLD_TURNS,
        messages: [...conversationOf([linesAbout('a control group')]), ...extra],
        ...fields,
      });
      return memory.potential !== undefined;
    };
    const more = [assistant('You are welcome.'), user('Go on.')];
    const found: boolean[] = [];
    for (let at = 0; at < 10; at++) {
      const named = { conversation_id: `conversation-${at}` };
      found.push(await isObserved(named));
      expect(await isObserved(named, more)).toBe(found.at(-1));
    }
    expect(new Set(found)).toEqual(new Set([true, false]));

    const first = await isObserved({});
    expect(await isObserved({}, more)).toBe(first);
  });

  it.each([
    ['true', true],
    ['ON', true],
    ['false', false],
    ['Off', false],
    ['', false],
  ])('is asked for by a word for yes: %j', async (word, isAsked) => {
    const messages = conversationOf([linesAbout('a word')]);
    const body = { model, messages, memory_strategy: COMPACT_OLD_TURNS };

    const { memory } = await deployment.ask(body, { 'x-memory-observe': word });

    expect(memory.potential !== undefined).toBe(isAsked);
  });
});
