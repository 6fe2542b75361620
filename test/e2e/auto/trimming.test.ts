import { expect, it } from 'vitest';
import { AgentCaller, brokenPrefixes, type Sent, wrongReport } from '../../support/clients/agent-caller.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { assistant, result, user } from '../../support/conversations/chat.ts';
import { toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation, type Message } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const keeping = { mode: 'auto', token_budget: 4_000, min_reclaim_tokens: 0, summary_max_tokens: 300 };
const strategy = { ...keeping, keep_first_user: false };

const LINE = /^⟦removed: messages (\d+)-(\d+); reason=trimmed; ref=(ref_[a-z2-7]{26}); tokens=(\d+)⟧\n\n/;

interface Trimmed {
  /** Of the view: the message that begins with the line. */
  readonly at: number;
  readonly first: number;
  readonly last: number;
  readonly ref: string;
  /** The text of the message after the line. */
  readonly rest: string;
}

function trimmedIn({ view }: Sent): Trimmed | undefined {
  for (const [at, { content }] of view.entries()) {
    const text = String(content);
    const [line, first, last, ref = ''] = LINE.exec(text) ?? [];
    if (line !== undefined)
      return { at, first: Number(first), last: Number(last), ref, rest: text.slice(line.length) };
  }
  return undefined;
}

/** The content of a ref, and of the refs that it links back to. */
async function kept(ref: string): Promise<string> {
  const text = await (await deployment.fetch(`/v1/refs/${ref}`)).text();
  const earlier = /is kept under (ref_\w{26})/.exec(text)?.[1];
  return earlier ? `${await kept(earlier)}\n${text}` : text;
}

/** Every request of a talk without tools, so that only summaries and trims can shorten it. */
async function play(topic: string, turns: number, fields: object = {}): Promise<Sent[]> {
  const messages = conversation(topic, turns);
  const caller = new AgentCaller(deployment, { memory_strategy: strategy, ...fields });
  const lengths = Array.from({ length: turns }, (_, at) => 2 * at + 2);
  return caller.play(messages, lengths);
}

const contentOf = (message: Message | undefined): string => String(message?.content);

overProtocols('what mode auto trims', deployment, () => {
  it('is reported on a line before the first message that stays, and is kept under its ref', async () => {
    const all = await play('apples', 16);
    const trimmed = all.flatMap((sent) => {
      const line = trimmedIn(sent);
      return line ? [{ sent, line }] : [];
    });

    expect(trimmed.length).toBeGreaterThan(1);
    for (const { sent, line } of trimmed) {
      const { messages, view, headers } = sent;
      expect(headers.get('x-memory-applied')).toBe('summarize,trim');
      expect(messages.slice(line.last + 1).map(contentOf)).toEqual([
        line.rest,
        ...view.slice(line.at + 1).map(contentOf),
      ]);
      const text = await kept(line.ref);
      for (const message of messages.slice(line.first, line.last + 1))
        expect(text).toContain(contentOf(message));
    }
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
    for (const { memory } of all) expect(memory.warnings).toEqual([]);
  });

  it('is reported at the end of the recap where the first request stays', async () => {
    const all = await play('quinces', 16, { memory_strategy: keeping });

    const trimmed = all.filter(({ view }) => String(view[2]?.content).includes('reason=trimmed'));
    expect(trimmed.length).toBeGreaterThan(1);
    for (const { messages, view, headers } of trimmed) {
      expect(headers.get('x-memory-applied')).toBe('summarize,trim');
      const [block = '', line = ''] = String(view[2]?.content).split(/\n\n(?=⟦)/);
      expect(block).toMatch(/^<session_summary [\s\S]*<\/session_summary>$/);
      const [, first, last, ref = ''] = LINE.exec(`${line}\n\n`) ?? [];
      expect(view).toEqual([
        ...messages.slice(0, 2),
        assistant(`${block}\n\n${line}`),
        ...messages.slice(Number(last) + 1),
      ]);
      const text = await kept(ref);
      for (const message of messages.slice(Number(first), Number(last) + 1))
        expect(text).toContain(contentOf(message));
    }
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
  });

  it('is read by the next summary, which replaces the line', async () => {
    const all = await play('pears', 16, { conversation_id: 'read' });

    const first = all.findIndex((sent) => trimmedIn(sent));
    const line = all[first] && trimmedIn(all[first]);
    const next = all.slice(first).find(({ memory }) => (memory.summary?.covers[1] ?? 0) >= (line?.last ?? 0));
    expect(next && trimmedIn(next)).toBeUndefined();
    const read = deployment.summarizer.readings.flatMap(({ messages }) => messages.map(({ index }) => index));
    expect(read).toEqual(read.map((_, at) => at + 1));
    expect(read).toContain(line?.last);
  });

  it('is a line without a ref for a caller without a tenant', async () => {
    const messages = conversation('plums', 14);
    const caller = new AgentCaller(deployment, { memory_strategy: strategy }, 'EMPTY');

    const all = await caller.play(messages, [16, 18, 20, 22, 24]);

    const lines = all.flatMap(({ view }) => JSON.stringify(view).match(/⟦removed: messages [^⟧]*⟧/g) ?? []);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line).toMatch(/^⟦removed: messages \d+-\d+; reason=trimmed⟧$/);
    expect(brokenPrefixes(all)).toEqual([]);
  });

  it('says in a stream what it says in a whole answer', async () => {
    const whole = await play('figs', 14);
    const stream = await play('figs', 14, { stream: true });

    expect(whole.some((sent) => trimmedIn(sent))).toBe(true);
    expect(stream.map(({ view }) => view)).toEqual(whole.map(({ view }) => view));
  });

  it('goes when its conversation does, and is kept again by the next request', async () => {
    const fields = { conversation_id: 'deleted' };
    const all = await play('dates', 14, fields);
    const last = all.findLast((sent) => trimmedIn(sent));
    const { ref = '' } = (last && trimmedIn(last)) ?? {};
    const before = await deployment.fetch(`/v1/refs/${ref}`);
    await deployment.fetch('/v1/conversations/deleted/memory', { method: 'DELETE' });
    const after = await deployment.fetch(`/v1/refs/${ref}`);

    const again = await new AgentCaller(deployment, { memory_strategy: strategy, ...fields }).send(
      last?.messages ?? [],
    );

    expect([before.status, after.status]).toEqual([200, 404]);
    expect((await deployment.fetch(`/v1/refs/${trimmedIn(again)?.ref}`)).status).toBe(200);
    expect(again.memory.summary?.status).toBe('completed');
    expect(again.memory.warnings).toEqual([]);
  });

  it('is nothing that one huge output in the tail has pushed out for a moment', async () => {
    const call = { id: 'call_0', type: 'function', function: { name: 'search', arguments: '{}' } };
    const messages = [
      ...toolTalk('quinces', 5),
      { role: 'assistant', content: null, tool_calls: [call] },
      result('call_0', rows('quinces', 700)),
      ...[1, 2].flatMap((at) => [assistant(`Answer ${at}.`), user(`Question ${at}?`)]),
    ];
    const memory_strategy = { ...strategy, token_budget: 8_000 };
    const all = await new AgentCaller(deployment, { memory_strategy }).play(messages, [18, 20, 22, 24]);

    const last = all.at(-1)?.memory;
    expect(last?.applied_edits.map(({ type }) => type)).toContain('offload');
    expect(last?.tokens?.after).toBeLessThan(4_000);
    expect(last?.applied_edits.map(({ type }) => type)).not.toContain('trim');
  });
});
