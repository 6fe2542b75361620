import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { lines } from '../../support/conversations/chat.ts';
import { toolTalk } from '../../support/conversations/tool-talk.ts';
import { type Asked, deploy } from '../../support/deployment/deployment.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { type Message, question, readSummary, tokensIn, turn } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const model = 'gpt-4.1';
const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2, rehydrate: true };
const AUTO = {
  mode: 'auto',
  token_budget: 8_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
  compact_retrieval: 'off',
  rehydrate: { items: 2 },
};

const contentOf = (topic: string, number: number): string => rows(`${topic} ${number}`, 12);

/** Turns that each read a file; the last one waits for its call. */
function readTalk(topic: string, turns: number): Message[] {
  const over = Array.from({ length: turns - 1 }, (_, at): Message[] => {
    const number = at + 1;
    const [asked = question(topic, number), answer = asked] = turn(topic, number);
    const called = { name: 'read_file', arguments: JSON.stringify({ path: `${topic}/${number}.md` }) };
    return [
      asked,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: `r${number}`, type: 'function', function: called }],
      },
      { role: 'tool', tool_call_id: `r${number}`, content: contentOf(topic, number) },
      answer,
    ];
  });
  return [{ role: 'system', content: 'You weigh things.' }, ...over.flat(), question(topic, turns)];
}

const ask = (messages: Message[], fields: object = {}, headers?: Record<string, string>): Promise<Asked> =>
  deployment.ask({ memory_strategy: SUMMARIZE, ...fields, messages }, headers);

/** The content of the message that holds the summary. */
function summaryIn(messages: Message[]): string {
  const found = messages
    .map(({ content }) => String(content))
    .filter((text) => text.includes('<session_summary'));
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

const pathsIn = (text: string): string[] =>
  [...text.matchAll(/<rehydrated_output [^>\n]* path='([^']*)'/g)].map(([, path]) => path ?? '');

/** The body without its closing brackets. The messages are last in it. */
const open = ({ seen }: Asked): string => seen.rawBody.toString().slice(0, -2);

overProtocols('rehydrate', deployment, (protocol) => {
  it.each(ofTurn(1, [false, true]))(
    'puts the outputs that were used last after the summary, and reports them (streamed: %s)',
    async (stream) => {
      const topic = `apples ${stream}`;

      const { seen, memory } = await ask(readTalk(topic, 4), { stream });

      const text = summaryIn(seen.body.messages);
      const { rest } = readSummary(text);
      expect(pathsIn(text)).toEqual([`${topic}/2.md`]);
      expect(rest).toContain(`>\n${contentOf(topic, 2)}\n</rehydrated_output>\n</rehydrated_outputs>`);
      expect(tokensIn(text)).toEqual([deployment.summarizer.lastReading().token]);
      expect(memory.summary?.rehydrated).toEqual([
        { message: 7, tool_name: 'read_file', tool_call_id: 'r2', tokens: expect.any(Number) },
      ]);
      expect(memory.summary?.text).not.toContain('rehydrated_output');
      expect(violations(seen.body, { lenientFields: true })).toEqual([]);
      expect(seen.rawBody.toString()).not.toContain('"rehydrate"');
    },
  );

  it('says nothing of it where the strategy does not ask for it', async () => {
    const { seen, memory } = await ask(readTalk('pears', 4), {
      memory_strategy: { ...SUMMARIZE, rehydrate: false },
    });

    expect(readSummary(summaryIn(seen.body.messages)).rest).toBe('');
    expect(memory.summary).not.toHaveProperty('rehydrated');
  });

  it('keeps every view the opening of the next one until the frontier moves', async () => {
    let earlier: Asked | undefined;
    const moves: boolean[] = [];
    for (let turns = 4; turns <= 9; turns++) {
      const asked = await ask(readTalk('figs', turns));
      const { moved } = asked.memory.frontier;
      moves.push(moved);
      if (earlier && !moved) expect(open(asked).startsWith(open(earlier))).toBe(true);
      earlier = asked;
    }
    expect(moves.filter(Boolean).length).toBeGreaterThan(1);
    expect(moves).toContain(false);
  });

  it('names in auto the refs of what is stored, and they can be fetched', async () => {
    const messages = toolTalk('quinces', 24);
    // With the first request kept, less is freed, and one output fits.
    const { seen, memory } = await ask(messages, { memory_strategy: { ...AUTO, keep_first_user: false } });

    const outputs = memory.summary?.rehydrated ?? [];
    expect(outputs).toHaveLength(2);
    for (const { message, ref, tool_call_id } of outputs) {
      const content = String(messages[message]?.content);
      expect(summaryIn(seen.body.messages)).toContain(`call_id="${tool_call_id}"`);
      expect(summaryIn(seen.body.messages)).toContain(`>\n${content}\n</rehydrated_output>`);
      if (ref === undefined) continue;
      expect(summaryIn(seen.body.messages)).toContain(`ref="${ref}"`);
      expect(await (await deployment.fetch(`/v1/refs/${ref}`)).text()).toBe(content);
      expect(memory.refs.map((named) => named.ref)).toContain(ref);
    }
    expect(outputs.some(({ ref }) => ref !== undefined)).toBe(true);
    expect(memory.tokens?.after).toBeLessThanOrEqual(8_000);
  });

  it('follows a digest where the summarizer fails', async () => {
    deployment.summarizer.always('server error');

    const { seen, memory } = await ask(readTalk('plums', 4));

    expect(memory.summary?.status).toBe('degraded');
    expect(pathsIn(summaryIn(seen.body.messages))).toEqual(['plums/2.md']);
    expect(memory.warnings).toContain('summary_degraded');
  });

  it('has no refs for a caller without a tenant', async () => {
    const { seen, memory } = await ask(
      toolTalk('limes', 24),
      { memory_strategy: { ...AUTO, keep_first_user: false } },
      { authorization: 'Bearer EMPTY' },
    );

    expect(memory.summary?.rehydrated).toHaveLength(2);
    expect(seen.rawBody.toString()).not.toMatch(/ref_[a-z2-7]{26}/);
    expect(memory.warnings).toContain('no_tenant');
  });

  it('is a part of the summary when the view comes back as the array', async () => {
    const messages = readTalk('dates', 4);
    const { seen } = await ask(messages);
    const { token } = deployment.summarizer.lastReading();
    const view = seen.body.messages as Message[];
    const same = await ask(view);
    const later = await ask([...view, ...readTalk('dates, later', 4).slice(1)]);

    expect(same.seen.body.messages).toEqual(view);
    const text = summaryIn(later.seen.body.messages);
    expect(deployment.summarizer.lastReading().after).toEqual([token]);
    expect(JSON.stringify(deployment.summarizer.lastReading().request.body)).not.toContain(
      'rehydrated_output',
    );
    expect(pathsIn(text)).toEqual(['dates/3.md', 'dates, later/1.md', 'dates, later/2.md']);
    expect(text.match(/<rehydrated_outputs>/g)).toHaveLength(1);
  });

  it('is done by the agent of the base URL', async () => {
    const steps = Array.from({ length: 130 }, (_, at): Message[] => [
      {
        role: 'assistant',
        content: lines(50, `thought ${at}`),
        tool_calls: [
          {
            id: `c${at}`,
            type: 'function',
            function: { name: 'read_file', arguments: `{"path":"${at}.ts"}` },
          },
        ],
      },
      { role: 'tool', tool_call_id: `c${at}`, content: lines(8, `file ${at}`) },
    ]).flat();
    const messages = [{ role: 'user', content: `Mend it over ${protocol.name}.` }, ...steps];
    const response = await deployment.postTo(
      `/agents/coding/v1${protocol.path}`,
      protocol.body({ model, memory_report: true, messages }),
    );
    const answer = (await response.json()) as { memory: Report };

    expect(response.headers.get('x-memory-mode')).toBe('auto');
    expect(response.headers.get('x-memory-source')).toBe('agent');
    expect(response.headers.get('x-memory-applied')).toContain('summarize');
    const paths = pathsIn(summaryIn(deployment.lastChat().body.messages));
    expect(paths).toHaveLength(5);
    expect(answer.memory.summary?.rehydrated?.map(({ tool_name }) => tool_name)).toEqual(
      Array(5).fill('read_file'),
    );
  });

  it.each([
    ['yes', 'memory_strategy.rehydrate', /true, false, or an object of items and max_tokens/],
    [3, 'memory_strategy.rehydrate', /true, false/],
    [{ items: 0 }, 'memory_strategy.rehydrate.items', /must be at least 1; it is 0/],
    [{ items: 21 }, 'memory_strategy.rehydrate.items', /20/],
    [{ items: 1.5 }, 'memory_strategy.rehydrate.items', /must be a whole number; it is 1\.5/],
    [{ max_tokens: '1' }, 'memory_strategy.rehydrate.max_tokens', /number/],
    [{ max_tokens: 100_001 }, 'memory_strategy.rehydrate.max_tokens', /100000/],
    [{ files: 5 }, 'memory_strategy.rehydrate.files', /'files'/],
  ])('is refused as %j', async (rehydrate, param, message) => {
    const memory_strategy = { mode: 'auto', rehydrate };
    const response = await deployment.chat({ model, memory_strategy, messages: readTalk('a', 2) });

    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: object }).error).toMatchObject({
      type: 'invalid_request_error',
      code: 'invalid_memory_strategy',
      param,
      message: expect.stringMatching(message),
    });
  });

  it('is no field of a mode without a summary', async () => {
    const memory_strategy = { mode: 'compact', rehydrate: true };
    const response = await deployment.chat({ model, memory_strategy, messages: readTalk('a', 2) });

    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: object }).error).toMatchObject({
      param: 'memory_strategy.rehydrate',
    });
  });
});
