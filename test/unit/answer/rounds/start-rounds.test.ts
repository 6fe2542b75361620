import { afterEach, describe, expect, it, vi } from 'vitest';
import { startRounds } from '../../../../src/answer/rounds/start-rounds.ts';
import type { Log } from '../../../../src/log.ts';
import { parseStrategy } from '../../../../src/memory/modes/strategy.ts';
import { idleReport } from '../../../../src/memory/plan/report.ts';
import type { View } from '../../../../src/memory/plan/view.ts';
import { chatFormat } from '../../../../src/protocol/chat/format.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { isolateMemory } from '../../../../src/request/beliefs.ts';
import type { Call } from '../../../../src/request/call.ts';
import type { RequestScope } from '../../../../src/request/scope.ts';
import type { MadeView } from '../../../../src/view/made-view.ts';
import type { OfferedTools } from '../../../../src/view/offer-tools.ts';
import { step, user } from '../../../support/conversations/chat.ts';
import { counter, tenant } from '../../../support/laws/view-of.ts';

const ref = tenant.refs.name('the content', () => 'the content');

const API = { field: 'messages', read: readChatRequest, answers: chatFormat } as const;

const never = () => new Promise<never>(() => undefined);

/** An answerer whose storage never answers. */
async function silentAnswerer(log: Log) {
  const strategy = parseStrategy({ mode: 'compact', compact_retrieval: 'tool', archive: true });
  const messages = [user(`ref=${ref}`), ...step('1', 'f', 'an output')];
  const body = new TextEncoder().encode(JSON.stringify({ messages }));
  const read = readChatRequest(body);
  if (!read.ok || !strategy.ok) throw new Error('a request was written');
  const tools = { search: 'search_memory', list: 'list_refs' } as unknown as OfferedTools;
  const scope = {
    services: {
      log,
      config: { tokenFactors: [], modelPrices: [], modelWindows: [], promptCache: true, ownModels: false },
      conversation: () => never,
      memory: isolateMemory(),
      bucket: { get: never, head: never },
    },
    caller: { tenant, account: {} },
    timings: { startedAt: 0 },
    caches: { counting: async () => ({ counter }) },
  } as unknown as RequestScope;
  const owner = { conversation: 'c', user: undefined, off: [] };
  const report = idleReport('compact', 'request');
  const count = () => Promise.reject(new Error('counted'));
  const view = { removals: new Map(), dropped: new Set([1, 2]) } as unknown as View;
  const made = { view } as unknown as MadeView;
  const chosen = { strategy: strategy.value };
  const call = { request: read.value, chosen, owner, scope } as unknown as Call;
  return (await startRounds({ body, report, addedTokens: 0, count }, tools, made, call, API)).answerer;
}

afterEach(() => void vi.useRealTimers());

describe('a model that waits for storage', () => {
  it.each([
    // Three of the eight seconds are for the write of the request's own messages.
    ['search_memory', { query: 'pears' }, 8_000, 'The archive does not answer at the moment.'],
    ['list_refs', {}, 5_000, 'Storage does not answer at the moment.'],
    ['retrieve_ref', { ref }, 5_000, 'Storage does not answer at the moment.'],
  ])('F30: learns it in time, and the log why: %s', async (name, args, ms, words) => {
    const log = vi.fn<Log>();
    const answerer = await silentAnswerer(log);
    vi.useFakeTimers();
    const result = answerer.answer({ id: 'a', name, arguments: JSON.stringify(args) });
    await vi.advanceTimersByTimeAsync(ms);
    expect(await result).toContain(words);
    expect(log).toHaveBeenCalledWith('warn', expect.any(String), {
      code: 'store_failed',
      error: 'Error',
      at: expect.any(String),
    });
  });
});
