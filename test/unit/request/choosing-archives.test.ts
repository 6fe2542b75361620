import { describe, expect, it } from 'vitest';
import { parseStrategy } from '../../../src/memory/modes/strategy.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { chooseStrategy, chosenByHeaders, NOTHING_SET } from '../../../src/request/choose-strategy.ts';
import type { RequestScope } from '../../../src/request/scope.ts';
import type { Agent, Services } from '../../../src/request/services.ts';

const none = parseStrategy('none');
if (!none.ok) throw new Error('none is a mode');
const strategy = none.value;

const servicesWith = (archives: boolean) =>
  ({
    config: { archives, defaultStrategy: strategy, isolation: {} },
    prompts: new Map(),
  }) as unknown as Services;

const agentWith = (archives: boolean | undefined): Agent => ({
  key: 'one',
  strategy,
  injection: undefined,
  blocks: undefined,
  archives,
  isolation: undefined,
});

const WORDS = { always: true, asked: false, nothing: undefined } as const;

describe('the deployer’s archive', () => {
  it.each([
    ['always', 'always', true],
    ['always', 'asked', true],
    ['always', 'nothing', true],
    ['asked', 'always', true],
    ['asked', 'asked', false],
    ['asked', 'nothing', false],
  ] as const)('of a deployment that says %s and an agent that says %s', async (all, one, kept) => {
    const services = servicesWith(WORDS[all]);
    const agent = agentWith(WORDS[one]);
    const request = readChatRequest(
      new TextEncoder().encode(JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] })),
    );
    if (!request.ok) throw new Error(request.reason.message);
    const chosen = await chooseStrategy(
      request.value,
      new Headers(),
      agent,
      async () => NOTHING_SET,
      services,
    );
    const headers = new Headers({ 'x-conversation-id': 'c', 'x-memory-strategy': 'none' });
    const unread = chosenByHeaders(headers, agent, { caller: {}, services } as unknown as RequestScope);

    expect(chosen.archives).toBe(kept);
    // A body that is archived must be read.
    expect(typeof unread === 'object').toBe(!kept);
  });
});
