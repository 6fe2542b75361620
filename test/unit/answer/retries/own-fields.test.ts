import { describe, expect, it } from 'vitest';
import { asksUsage, marksOf } from '../../../../src/answer/retries/own-fields.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import type { Call } from '../../../../src/request/call.ts';
import { strategyOf } from '../../../support/laws/view-of.ts';
import { LONG, MARK, read, text, user } from '../../protocol/messages/edited.ts';

const TABLES = { modelPrices: [], modelWindows: [], promptCache: true, ownModels: false };
const AUTO = strategyOf({ mode: 'auto' });
const NONE = { mode: 'none' } as const;
const model = 'claude-sonnet-5-5';

const encoded = (body: object): Uint8Array => new TextEncoder().encode(JSON.stringify(body));

function chat(body: object) {
  const request = readChatRequest(encoded({ messages: [user('Go.')], ...body }));
  if (!request.ok) throw new Error(request.reason.message);
  return request.value;
}

function responses(body: object) {
  const request = readResponsesRequest(encoded({ input: [user('Go.')], ...body }));
  if (!request.ok) throw new Error(request.reason.message);
  return request.value;
}

describe('Precis’s marks', () => {
  it('get what the marks of a caller of Messages leave of four', () => {
    const left = [0, 1, 3, 4, 5].map((count) => {
      const system = Array.from({ length: count }, (_, at) => text(`${at}`, { cache_control: MARK }));
      const request = read([user('The word "cache_control" is no mark.')], { model, system });
      return marksOf(request, AUTO, TABLES).marks;
    });
    expect(left).toEqual([4, 3, 1, 0, 0]);
  });

  it.each([
    ['none', [user('Go.')], {}, true],
    ['tools alone', [user('Go.')], { tools: [{ name: 'a', cache_control: MARK }] }, true],
    ['system alone', [user('Go.')], { system: [text('Help.', { cache_control: LONG })] }, true],
    ['a null', [user([text('Go.', { cache_control: null })])], {}, true],
    ['a message', [user([text('Go.', { cache_control: MARK })])], {}, false],
    ['the end of each request', [user('Go.')], { cache_control: MARK }, false],
  ])('move along where a caller of Messages marks %s: %o', (_, messages, fields, moves) => {
    const request = read(messages, { model, ...fields });
    expect(marksOf(request, AUTO, TABLES).movesMark).toBe(moves);
  });

  it('are chat’s for models of Anthropic by their names, and OpenAI’s own cache’s', () => {
    const marked = user([text('Go.', { cache_control: MARK })]);
    expect(marksOf(chat({ model: 'anthropic/claude-sonnet-4.6' }), AUTO, TABLES)).toMatchObject({
      marks: 4,
      movesMark: true,
    });
    expect(marksOf(chat({ model, messages: [marked] }), AUTO, TABLES)).toMatchObject({
      marks: 3,
      movesMark: false,
    });
    expect(marksOf(chat({ model: 'gpt-5.6-terra' }), AUTO, TABLES).marks).toBe(3);
    for (const other of ['gpt-5.5', 'deepseek-flash', 'a-model-of-nobody'])
      expect(marksOf(chat({ model: other }), AUTO, TABLES).marks).toBeUndefined();
  });

  it('are not put where their form is not known, or where the caller places all marks', () => {
    expect(marksOf(responses({ model }), AUTO, TABLES).marks).toBeUndefined();
    const prompt_cache_options = { mode: 'explicit' };
    for (const model of ['gpt-5.6-terra', 'gpt-6.2-sol']) {
      expect(marksOf(responses({ model }), AUTO, TABLES).marks).toBe(3);
      expect(marksOf(responses({ model, prompt_cache_options }), AUTO, TABLES).marks).toBeUndefined();
    }
  });

  it('are set in Messages for a model that nobody knows, but not for one of the deployer’s own', () => {
    const request = () => read([user('Go.')], { model: 'our-alias' });
    expect(marksOf(request(), AUTO, TABLES).marks).toBe(4);
    expect(marksOf(request(), AUTO, { ...TABLES, ownModels: true }).marks).toBeUndefined();
    expect(marksOf(request(), AUTO, { ...TABLES, promptCache: false }).marks).toBeUndefined();
  });

  it('come in mode none only if they are asked for, and nowhere if the strategy says so', () => {
    const request = () => read([user('Go.')], { model });
    expect(marksOf(request(), NONE, TABLES)).toEqual({ losesMarks: false });
    expect(marksOf(request(), { ...NONE, cache_marks: 'auto' }, TABLES).movesMark).toBe(true);
    for (const cache_marks of ['callers', 'off'] as const) {
      const marks = marksOf(request(), strategyOf({ mode: 'auto', cache_marks }), TABLES);
      expect(marks).toEqual({ losesMarks: cache_marks === 'off' });
    }
  });
});

describe('the usage of a stream', () => {
  // https://openrouter.ai/docs/use-cases/usage-accounting
  it('is not asked for, and so not hidden, where the upstream reports it to all', () => {
    const memory = { of: () => ({ of: () => ({ get: () => undefined }) }) };
    const asks = (upstreamBaseUrl: string): boolean => {
      const scope = { caller: {}, services: { memory, config: { upstreamBaseUrl } } };
      const call = { request: chat({ model: 'gpt-5.5', stream: true }), chosen: { strategy: AUTO }, scope };
      return asksUsage(call as unknown as Call, true);
    };
    expect(asks('https://openrouter.ai/api/v1')).toBe(false);
    expect(asks('https://api.openai.com/v1')).toBe(true);
  });
});
