import { describe, expect, it } from 'vitest';
import { retrievalRoom } from '../../../../src/answer/rounds/start-rounds.ts';
import { edits, parseStrategy } from '../../../../src/memory/modes/strategy.ts';
import type { EditingStrategy } from '../../../../src/memory/modes/table.ts';
import { idleReport, type Report } from '../../../../src/memory/plan/report.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { type OfferedTools, offerTools } from '../../../../src/view/offer-tools.ts';
import { tenant } from '../../../support/laws/view-of.ts';

function strategyOf(more: object = {}): EditingStrategy {
  const read = parseStrategy({ mode: 'compact', compact_retrieval: 'tool', ...more });
  if (!read.ok || !edits(read.value)) throw new Error('a strategy was written');
  return read.value;
}

const counted = (after: number): Report => ({
  ...idleReport('compact', 'request'),
  tokens: { before: after, after, budget: null, window: 10_000 },
});

describe('the room for what a model fetches', () => {
  const room = (sent: {
    report?: Report;
    bytes?: number;
    answerTokens?: number;
    addedTokens?: number;
    limit?: { tokens: number; withAnswer: boolean };
    input?: number;
    count?: () => Promise<Report>;
  }) => {
    const {
      report = idleReport('compact', 'request'),
      bytes = 1_000,
      answerTokens = 1_000,
      addedTokens = 0,
    } = sent;
    const { count = () => Promise.reject(new Error('counted')) } = sent;
    const request = { answerTokens };
    return retrievalRoom(
      { request, body: new Uint8Array(bytes), report, addedTokens, count },
      { window: 10_000, input: sent.input },
      sent.limit,
    );
  };

  it('is what the window leaves beside view and answer, with something to spare', async () => {
    expect(await room({ report: counted(4_000), addedTokens: 500 })).toBe((10_000 - 1_000 - 4_500) * 0.9);
  });

  it('takes the bytes for the tokens where they are few, and counts where they are not', async () => {
    expect(await room({ bytes: 2_000 })).toBe((10_000 - 1_000 - 2_000) * 0.9);
    expect(await room({ bytes: 20_000, count: async () => counted(4_000) })).toBe(
      (10_000 - 1_000 - 4_000) * 0.9,
    );
  });

  it('is less where the upstream has said that it takes less', async () => {
    const report = counted(2_000);
    expect(await room({ report, limit: { tokens: 5_000, withAnswer: true } })).toBe(
      (5_000 - 1_000 - 2_000) * 0.9,
    );
    expect(await room({ report, limit: { tokens: 5_000, withAnswer: false } })).toBe((5_000 - 2_000) * 0.9);
  });

  it('is less where the model takes less input than its window', async () => {
    expect(await room({ report: counted(4_000), input: 8_500 })).toBe((8_500 - 4_000) * 0.9);
    expect(await room({ report: counted(4_000), input: 9_500 })).toBe((9_000 - 4_000) * 0.9);
  });

  it('leaves an answer its place that nobody has limited', async () => {
    expect(await room({ report: counted(4_000), answerTokens: 0 })).toBe((10_000 - 2_500 - 4_000) * 0.9);
  });

  it('is none where the view fills the window', async () => {
    expect(await room({ report: counted(12_000) })).toBeLessThan(0);
  });
});

describe('the tools that a request is offered', () => {
  const offered = (count: number, more: object = {}): OfferedTools | 'off' | undefined => {
    const tools = Array.from({ length: count }, (_, at) => ({
      type: 'function',
      function: { name: `t${at}` },
    }));
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Go.' }], tools });
    const read = readChatRequest(new TextEncoder().encode(body));
    if (!read.ok) throw new Error(read.reason.message);
    return offerTools(read.value, strategyOf(more), tenant, 'words');
  };
  const names = (tools: OfferedTools | 'off' | undefined): unknown =>
    typeof tools === 'object' ? [...tools.names] : tools;

  it('are as many as may come addedTokens the caller’s, or none', () => {
    expect(names(offered(127))).toEqual(['retrieve_ref']);
    expect(names(offered(128))).toBe('off');
    expect(names(offered(126, { archive: true }))).toEqual(['retrieve_ref', 'search_memory']);
    expect(names(offered(127, { archive: true }))).toBe('off');
  });

  it('are none where no round is allowed', () => {
    expect(names(offered(1, { retrieval_max_rounds: 0 }))).toBeUndefined();
  });

  it('avoid the names of custom tools', () => {
    const tools = [{ type: 'custom', custom: { name: 'retrieve_ref' } }];
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Go.' }], tools });
    const read = readChatRequest(new TextEncoder().encode(body));
    expect(read.ok && names(offerTools(read.value, strategyOf(), tenant, 'words'))).toEqual([
      'precis_retrieve_ref',
    ]);
  });
});
