import { describe, expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { callTool } from '../../support/deployment/call-tool.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const METRICS_TOKEN = 'the-token-of-the-operator';
const deployment = deploy({ vars: { METRICS_TOKEN }, summarizer: true, limits: { metricsBatchMs: 500 } });
const silent = deploy();

const scrape = (token = METRICS_TOKEN, from = deployment) =>
  from.fetch('/metrics', { headers: { authorization: `Bearer ${token}` } });

/** The values of all series. */
async function series(): Promise<Map<string, number>> {
  const lines = (await (await scrape()).text()).split('\n').filter((line) => line && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(line.replace(/^.* /, ''))]));
}

/** What some work adds to the series. */
async function counted(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await series();
  await work();
  const added = [...(await series())].map(
    ([name, value]) => [name, value - (before.get(name) ?? 0)] as const,
  );
  return Object.fromEntries(added.filter(([, by]) => by !== 0));
}

const edited = {
  model: recording.model,
  tools: recording.tools,
  messages: recording.messages.slice(0, 43),
  memory_strategy: { mode: 'compact', token_budget: 20_000, compact_retrieval: 'off' },
};

describe('GET /metrics', () => {
  it('is opened by its token alone', async () => {
    for (const token of [KEY, `${METRICS_TOKEN}1`, '']) expect((await scrape(token)).status, token).toBe(401);
    const response = await scrape();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('is a 404 in a deployment without a token', async () => {
    const response = await scrape(METRICS_TOKEN, silent);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'not_forwarded' } });
  });

  it('has every family with its type, and a line for each value', async () => {
    const lines = (await (await scrape()).text()).trimEnd().split('\n');

    const types = lines.filter((line) => line.startsWith('# TYPE'));
    expect(types).toContain('# TYPE memory_compaction_items_total counter');
    expect(types).toContain('# TYPE memory_tokens_before_after histogram');
    expect(lines).toContain('precis_none_changed_bytes_total 0');
    const values = lines.filter((line) => !line.startsWith('#'));
    for (const line of values) expect(line).toMatch(/^\w+(\{\w+="[\w+.]*"(,\w+="[\w+.]*")*\})? \d+(\.\d+)?$/);
  });
});

overProtocols('what is counted', deployment, (protocol) => {
  const { name } = protocol;

  it('is a request with its edits, tokens, refs and times', async () => {
    let headers = new Headers();
    const added = await counted(async () => {
      const response = await deployment.chat({ ...edited, user: `of ${name}` });
      headers = response.headers;
      await response.text();
    });

    expect(added).toMatchObject({
      [`precis_requests_total{protocol="${name}",mode="compact",status="2xx"}`]: 1,
      'memory_tokens_before_after_count{stage="before"}': 1,
      'memory_tokens_before_after_sum{stage="before"}': Number(headers.get('x-memory-tokens-before')),
      'memory_tokens_before_after_sum{stage="after"}': Number(headers.get('x-memory-tokens-after')),
      'memory_tokens_before_after_bucket{stage="after",le="+Inf"}': 1,
      precis_overhead_seconds_count: 1,
      precis_first_byte_seconds_count: 1,
    });
    const items = added[`memory_compaction_items_total{mode="compact",reason="compact",protocol="${name}"}`];
    expect(items).toBe(Number(headers.get('x-memory-refs')));
    expect(added.precis_refs_written_total).toBe(items);
  });

  it('counts an item once, and in each view that lacks it', async () => {
    const labels = `{mode="compact",reason="compact",protocol="${name}"}`;
    const conversation = { ...edited, conversation_id: `of items, over ${name}`, user: `of ${name}` };
    const ask = async (body: Parameters<typeof deployment.ask>[0]) => {
      const headers = (await deployment.ask(body)).headers;
      return Number(headers.get('x-memory-refs'));
    };
    let views: number[] = [];
    const added = await counted(async () => {
      views = [await ask(conversation), await ask(conversation)];
    });
    const [first = 0, second = 0] = views;
    expect(first).toBeGreaterThan(0);
    expect(second).toBe(first);
    expect(added[`memory_compaction_items_total${labels}`]).toBe(first);
    expect(added[`memory_compaction_items_in_views_total${labels}`]).toBe(2 * first);
    // Another conversation has items of its own.
    const other = await counted(async () => {
      await ask({ ...conversation, conversation_id: `of other items, over ${name}` });
    });
    expect(other[`memory_compaction_items_total${labels}`]).toBe(first);
  });

  it.each(ofTurn(0, [false, true]))('is what the upstream has counted, with stream: %s', async (stream) => {
    const fields = name === 'chat' && stream ? { stream_options: { include_usage: true } } : {};
    for (const memory_strategy of ['none', 'compact']) {
      let text = '';
      const added = await counted(async () => {
        text = await (
          await deployment.wire({
            model: 'gpt-4.1',
            messages: [{ role: 'user', content: 'Hello, "usage":{"prompt_tokens":99999}' }],
            memory_strategy,
            stream,
            ...fields,
          })
        ).text();
      });

      const last = (key: string) =>
        Number([...text.matchAll(new RegExp(`"${key}":(\\d+)`, 'g'))].at(-1)?.[1]);
      const input = last(name === 'chat' ? 'prompt_tokens' : 'input_tokens');
      const output = last(name === 'chat' ? 'completion_tokens' : 'output_tokens');
      const cached = last('cached_tokens');
      const countOf = (state: string) => added[`precis_upstream_tokens_total{state="${state}"}`] ?? 0;
      expect(input).toBeGreaterThan(0);
      expect([countOf('fresh'), countOf('cached'), countOf('output')]).toEqual([
        input - cached,
        cached,
        output,
      ]);
    }
  });

  it('is a refusal, an error of the upstream, a warning, and a fetch by ref', async () => {
    const one = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hello.' }] };
    const { refs } = (await deployment.ask({ ...edited, user: `of ${name}` })).memory;
    const added = await counted(async () => {
      await deployment.chat({ ...one, memory_strategy: 'odd' });
      deployment.upstream.next({ type: 'error', status: 500 });
      await (await deployment.chat(one)).text();
      await (await deployment.chat({ ...one, memory_injection: true })).text();
      await (await deployment.fetch(`/v1/refs/${refs[0]?.ref}`)).text();
    });

    expect(added).toMatchObject({
      'precis_refusals_total{code="invalid_memory_strategy"}': 1,
      [`precis_requests_total{protocol="${name}",mode="none",status="5xx"}`]: 1,
      'precis_warnings_total{code="no_conversation"}': 1,
      'precis_retrievals_total{outcome="found"}': 1,
    });
  });

  it('is a miss of a caller or of a client of MCP, also of a ref that is nobody’s', async () => {
    const { refs } = (await deployment.ask({ ...edited, user: `missing, of ${name}` })).memory;
    const [gone = ''] = refs.map(({ ref }) => ref);
    await deployment.fetch(`/v1/refs/${gone}`, { method: 'DELETE' });
    const forged = `ref_${'a'.repeat(26)}`;
    const call = (ref: string) => callTool(deployment, 'retrieve_ref', { ref });
    const added = await counted(async () => {
      for (const ref of [gone, forged]) {
        expect((await deployment.fetch(`/v1/refs/${ref}`)).status).toBe(404);
        expect((await call(ref)).status).toBe(200);
      }
    });
    expect(added['precis_retrievals_total{outcome="missing"}']).toBe(4);
  });

  it('is no byte in mode none, whatever of Precis is cut out', async () => {
    const messages = [{ role: 'user', content: 'Hello,  \u00e9 "messages": [1]' }];
    const plain = { model: 'gpt-4.1', memory_strategy: 'none', messages };
    for (const body of [plain, { ...plain, memory_report: true }, { ...plain, conversation_id: 'c' }])
      await (await deployment.chat(body)).text();

    expect((await series()).get('precis_none_changed_bytes_total')).toBe(0);
  });

  it('is a summary with its time, by the object that has it written', async () => {
    const before = (await series()).get('precis_summaries_total{status="completed"}') ?? 0;
    const messages = Array.from({ length: 5 }, (_, n) => [
      { role: 'user', content: `Question ${n} over ${name}: ${'what follows? '.repeat(60)}` },
      { role: 'assistant', content: `Answer ${n}. ${'This is it. '.repeat(60)}` },
    ]).flat();
    const memory_strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 };
    const last = { role: 'user', content: 'And now?' };
    const { memory } = await deployment.ask({ messages: [...messages, last], memory_strategy });

    expect(memory.summary?.status).toBe('completed');
    await until('the summary is counted', async () => {
      const now = await series();
      return now.get('precis_summaries_total{status="completed"}') === before + 1;
    });
    expect((await series()).get('precis_summary_seconds_count')).toBe(before + 1);
  });
});
