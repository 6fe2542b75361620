import { describe, expect, it } from 'vitest';
import { parseStrategy } from '../../../src/memory/modes/strategy.ts';
import type { BlocksRequest } from '../../../src/memory/strategy/memory-blocks.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { chooseStrategy, chosenByHeaders, NOTHING_SET } from '../../../src/request/choose-strategy.ts';
import type { RequestScope } from '../../../src/request/scope.ts';
import type { Agent, Services } from '../../../src/request/services.ts';

const none = parseStrategy('none');
if (!none.ok) throw new Error('none is a mode');
const services = {
  config: { defaultStrategy: none.value, isolation: {} },
  prompts: new Map(),
} as unknown as Services;

const OF_AGENT: BlocksRequest = { labels: ['agent'], role: 'user', writable: true, refresh: false };

const agentWith = (blocks: Agent['blocks']): Agent => ({
  key: 'one',
  strategy: none.value,
  injection: undefined,
  blocks,
  archives: undefined,
  isolation: undefined,
});

/** The labels that a request shows. */
async function labelsOf(fields: object, headers: Record<string, string>, agent: Agent | undefined) {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...fields });
  const request = readChatRequest(new TextEncoder().encode(body));
  if (!request.ok) throw new Error(request.reason.message);
  const settings = async () => NOTHING_SET;
  return (await chooseStrategy(request.value, new Headers(headers), agent, settings, services)).blocks
    ?.labels;
}

describe('the memory blocks of a request', () => {
  const header = { 'x-memory-blocks': 'header' };

  it.each<[string, object, Record<string, string>, Agent['blocks'], string[] | undefined]>([
    ['its agent’s', {}, {}, OF_AGENT, ['agent']],
    ['those of its header', {}, header, OF_AGENT, ['header']],
    ['those of its body', { memory_blocks: ['body'] }, header, OF_AGENT, ['body']],
    ['none, as it says', { memory_blocks: false }, header, OF_AGENT, undefined],
    ['none, as its header says', {}, { 'x-memory-blocks': 'off' }, OF_AGENT, undefined],
    ['none, as its agent says', {}, {}, 'off', undefined],
    ['none', {}, {}, undefined, undefined],
    ['its agent’s, if null', { memory_blocks: null }, {}, OF_AGENT, ['agent']],
  ])('are %s', async (_, fields, headers, blocks, labels) => {
    expect(await labelsOf(fields, headers, agentWith(blocks))).toEqual(labels);
  });

  it('are the labels of a header, whatever white space is around and in them', async () => {
    const room = ' '.repeat(1_000_000);
    const shown = (blocks: string) => labelsOf({}, { 'x-memory-blocks': blocks }, undefined);

    expect(await shown(`a${room},${room}b,\tc`)).toEqual(['a', 'b', 'c']);
    await expect(shown(`a${room}b`)).rejects.toMatchObject({ param: 'x-memory-blocks' });
  });
});

describe('a body that is not read', () => {
  const scope = { caller: {}, services } as unknown as RequestScope;
  const chosen = (headers: Record<string, string>, blocks: Agent['blocks']) =>
    chosenByHeaders(new Headers(headers), agentWith(blocks), scope);

  it('must be read if it is shown memory blocks', () => {
    expect(chosen({ 'x-memory-blocks': 'team' }, undefined)).toBeUndefined();
    expect(chosen({}, OF_AGENT)).toBeUndefined();
    expect(chosen({ 'x-memory-blocks': 'off' }, OF_AGENT)).toEqual({
      mode: 'none',
      source: 'agent',
      report: false,
    });
    expect(chosen({}, undefined)).toEqual({ mode: 'none', source: 'agent', report: false });
  });
});
