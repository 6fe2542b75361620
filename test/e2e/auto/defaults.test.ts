import { expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { markersIn, textTokens, tokensOf } from '../../support/clients/agent-caller.ts';
import { type Message, rows } from '../../support/clients/agent-run.ts';
import { assistant, result } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

const model = 'gpt-4.1';
const user = { role: 'user', content: 'Go.' };

/** A text of a number of tokens. @param write adds text around its words */
function words(count: number, write = (text: string): string => text): string {
  const of = (size: number): string => write(' word'.repeat(size));
  const text = of(2 * count - textTokens(of(count)));
  if (textTokens(text) !== count) throw new Error(`a text of ${textTokens(text)} tokens, not of ${count}`);
  return text;
}

let calls = 0;

/** One call and its output, unlike all others. */
function step(output: string, input: string = JSON.stringify({ call: calls })): Message[] {
  const id = `call_${++calls}`;
  const called = { name: 'search', arguments: input };
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: called }] },
    result(id, output),
  ];
}

const lastCall = (): string => `call_${calls}`;

/** Steps that stay because they are the last ones. */
const lastSteps = (): Message[] => [1, 2, 3].flatMap((at) => step(rows(`the last ${at}`, 60)));

interface Compaction {
  messages: Message[];
  memory: Report;
}

/** The view with a budget one token below the array. Every move is made. */
async function compact(messages: Message[], fields: object = {}): Promise<Compaction> {
  const token_budget = tokensOf({ model, messages }) - 1;
  const memory_strategy = { mode: 'auto', token_budget, min_reclaim_tokens: 0, ...fields };
  const body = JSON.stringify({ model, memory_strategy, messages });
  const response = await deployment.fetch('/v1/compact', { method: 'POST', body });
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as Compaction;
}

/** The same, but removes everything that may be removed, whatever the watermark. */
const compactAll = (messages: Message[]): Promise<Compaction> => compact(messages, { low_watermark_pct: 0 });

const removed = ({ messages }: Compaction): string[] => markersIn(messages).map(({ call }) => call);

overProtocols('mode auto, when nobody says otherwise', deployment, () => {
  it('leaves outputs under 500 tokens as they are', async () => {
    const small = step(words(499, (text) => `Small${text}`));
    const large = step(words(500, (text) => `Large${text}`));
    const id = lastCall();

    expect(removed(await compactAll([user, ...small, ...large, ...lastSteps()]))).toEqual([id]);
  });

  it('leaves the last three steps as they are', async () => {
    const first = step(rows('the first', 60));
    const id = lastCall();
    const messages = [user, ...first, ...lastSteps()];

    const compaction = await compactAll(messages);

    expect(removed(compaction)).toEqual([id]);
    expect(compaction.messages.slice(3)).toEqual(messages.slice(3));
  });

  it('leaves the last two turns as they are where that is enough', async () => {
    const turns = [1, 2, 3].flatMap((turn) => [user, ...step(rows(`turn ${turn}`, 60)), assistant('Done.')]);

    const compaction = await compact([...turns.slice(0, -1)], { low_watermark_pct: 0.9 });

    expect(removed(compaction)).toEqual([`call_${calls - 2}`]);
  });

  it('shows at most 48 tokens of what it removes, and of those what nothing else says', async () => {
    const ids = Array.from({ length: 90 }, (_, at) => `order ord-${at * 7919} is paid`).join('\n');
    const output = step(ids);

    const { messages } = await compactAll([user, ...output, ...lastSteps()]);

    const [line = '', ...preview] = String(messages[2]?.content).split('\n');
    expect(markersIn(line)).toMatchObject([{ reason: 'context_compaction', tokens: textTokens(ids) }]);
    expect(preview.join('\n')).toMatch(/90 lines/);
    expect(preview.join('\n')).toMatch(/ord-\d+/);
    expect(textTokens(preview.join('\n'))).toBeLessThanOrEqual(48);
  });

  it('clears arguments of more than 500 tokens to a JSON object', async () => {
    const write = (text: string): string => JSON.stringify({ text });
    const [small, large] = [words(500, write), words(501, write)];
    const steps = [...step('ok', small), ...step('ok, too', large)];
    const id = lastCall();

    const compaction = await compactAll([user, ...steps, ...lastSteps()]);

    expect([small, large].map(textTokens)).toEqual([500, 501]);
    expect(markersIn(compaction.messages)).toMatchObject([{ kind: 'tool input', call: id }]);
    const [call] = (compaction.messages[3]?.tool_calls ?? []) as { function: { arguments: string } }[];
    expect(Object.keys(JSON.parse(call?.function.arguments ?? ''))).toEqual(['_removed']);
  });

  it('leaves head and tail of outputs of more than 8000 tokens', async () => {
    const compacted = step(words(8_000, (text) => `Head 1.\n${text}\nTail 1.`));
    const offloaded = step(words(8_001, (text) => `Head 2.\n${text}\nTail 2.`));

    const { messages, memory } = await compactAll([user, ...compacted, ...offloaded, ...lastSteps()]);

    expect(markersIn(messages).map(({ reason }) => reason)).toEqual(['context_compaction', 'offloaded']);
    expect(messages[2]?.content).not.toMatch(/Head|Tail/);
    expect(messages[4]?.content).toMatch(
      /^Head 2\.\n[\s\S]*\n⟦removed: tool output for search [\s\S]*\nTail 2\.$/,
    );
    expect(memory.applied_edits).toMatchObject([
      { type: 'offload', cleared_tool_results: 1 },
      { type: 'compact', cleared_tool_results: 1 },
    ]);
  });

  it('stops where the view is at 0.6 of its budget', async () => {
    const steps = Array.from({ length: 12 }, (_, at) => step(rows(`step ${at}`, 60)));

    const { memory } = await compact([user, ...steps.flat()]);

    const { after = 0, budget } = memory.tokens ?? {};
    const watermark = 0.6 * (budget ?? 0);
    expect(after).toBeLessThanOrEqual(watermark);
    // One removal fewer would not have been enough.
    expect(after + (memory.refs.at(-1)?.tokens ?? 0)).toBeGreaterThan(watermark);
    expect(memory.refs.length).toBeLessThan(9);
  });

  it('takes user messages that begin with “Observation:” for outputs', async () => {
    const observed = ['Observation: ', '\n Observation:'].flatMap((prefix, at) => [
      assistant(`Action: look at ${at}`),
      { role: 'user', content: `${prefix}${rows(`what is seen ${at}`, 60)}` },
    ]);
    const said = { role: 'user', content: `My observation: ${rows('what is said', 60)}` };
    const messages = [user, ...observed, assistant('I see.'), said, ...lastSteps()];

    const compaction = await compactAll(messages);

    const placeholders = compaction.messages.filter(({ content }) =>
      String(content).startsWith('⟦removed: observation; reason=context_compaction; ref='),
    );
    expect(placeholders).toEqual([compaction.messages[2], compaction.messages[4]]);
    expect(placeholders.map(({ role }) => role)).toEqual(['user', 'user']);
    for (const [at, { ref }] of markersIn(compaction.messages).entries()) {
      const response = await deployment.fetch(`/v1/refs/${ref}`);
      expect(await response.text()).toBe(messages[2 * at + 2]?.content);
    }
  });

  it('makes nothing longer than it was', async () => {
    const tiny = Array.from({ length: 6 }, (_, at) => step(`ok ${at}`));
    const messages = [user, ...tiny.flat(), ...lastSteps()];

    const compaction = await compactAll(messages);

    expect(compaction.memory.tokens?.after).toBeLessThanOrEqual(compaction.memory.tokens?.before ?? 0);
    expect(removed(compaction)).toEqual([]);
  });
});
