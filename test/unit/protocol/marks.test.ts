/** Precis's marks for prompt caches that are read at boundaries alone. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { marksIn } from '../../../src/protocol/edits.ts';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { autoStrategy, richConversation } from '../../support/conversations/arbitrary-conversation.ts';
import { body, lines, step, user } from '../../support/conversations/chat.ts';
import { forAll, runs } from '../../support/laws/runs.ts';
import { type Viewed, viewOf, viewsOf } from '../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const MARK = { mode: 'explicit' };
const PRICES = { cached: 0.1, written: 1.25, boundaries: 'ours' } as const;
const MOST = 3;

interface Written {
  /** The messages, with marks taken off and single text parts as strings. */
  readonly plain: readonly string[];
  /** Indices of those with marks. */
  readonly marked: readonly number[];
}

function written({ request, view }: Viewed, most = MOST): Written {
  const bytes = request.write(view, { marks: most });
  const { messages } = JSON.parse(new TextDecoder().decode(bytes)) as { messages: Json[] };
  const marked = messages.flatMap((message, index) => (hasMark(message) ? [index] : []));
  return { plain: messages.map((message) => JSON.stringify(plainOf(message))), marked };
}

const partsOf = ({ content }: Json): Json[] => (Array.isArray(content) ? (content as Json[]) : []);
const hasMark = (message: Json): boolean =>
  partsOf(message).some((part) => 'prompt_cache_breakpoint' in part);

function plainOf(message: Json): Json {
  const parts = partsOf(message).map(({ prompt_cache_breakpoint: _, ...part }) => part);
  const [only] = parts;
  const isText = parts.length === 1 && only?.type === 'text' && Object.keys(only).length === 2;
  if (!Array.isArray(message.content)) return message;
  return { ...message, content: isText ? only?.text : parts };
}

const long = fc
  .array(richConversation, { minLength: 1, maxLength: 3 })
  .map((parts) => ({ model: 'gpt-4.1', messages: parts.flatMap(({ messages }) => messages) }));
const options = { marks: true, prices: PRICES };

describe('a view with marks', () => {
  it('says the same as without, has few marks, and breaks no rule of the format', () => {
    const numRuns = runs(12, 150);
    let marks = 0;
    forAll(
      { numRuns, endOnFailure: true },
      long,
      autoStrategy,
      fc.boolean(),
      (conversation, input, retrieval) => {
        const viewed = viewOf(conversation, input, { ...options, retrieval });
        const { plain, marked } = written(viewed);
        marks += marked.length;
        expect(plain).toEqual(written(viewed, 0).plain);
        expect(marked.length).toBeLessThanOrEqual(MOST);
        expect(written(viewed, 1).marked.length).toBeLessThanOrEqual(1);
        const strict = { lenientFields: true };
        const sent = (most: number): unknown =>
          JSON.parse(new TextDecoder().decode(viewed.request.write(viewed.view, { marks: most })));
        if (violations(sent(0), strict).length === 0) expect(violations(sent(MOST), strict)).toEqual([]);
      },
    );
    expect(marks).toBeGreaterThan(numRuns / 3);
  });

  it('keeps them where they are until the frontier moves, and then has the last one that still holds', () => {
    const numRuns = runs(3, 50);
    let held = 0;
    forAll({ numRuns, endOnFailure: true }, long, autoStrategy, (conversation, input) => {
      const views = viewsOf(conversation, { ...input, min_reclaim_tokens: 0 }, options);
      for (const [at, viewed] of views.entries()) {
        const earlier = views[at - 1];
        if (!earlier) continue;
        const [before, now] = [written(earlier), written(viewed)];
        const changed = before.plain.findIndex((message, index) => message !== now.plain[index]);
        const same = changed < 0 ? before.plain.length : changed;
        if (!viewed.report.frontier.moved) expect(now.marked).toEqual(before.marked);
        const last = before.marked.at(-1);
        // A move may change what the one before has settled, as where it first clears reasoning.
        const settled = earlier.plan.replay.moves.map((move) => move.settled);
        const isNewest = settled.at(-1) === Math.max(...settled);
        if (last === undefined || last >= same || !isNewest) continue;
        held++;
        expect(now.marked).toContain(last);
      }
    });
    expect(held).toBeGreaterThan(numRuns / 3);
  });

  it('has none before the first move, nor in a model that reads prefixes', () => {
    const conversation = body([user('go'), ...step('call_1', 'find', lines(20)), user('And?')]);
    expect(viewOf(conversation, { mode: 'auto' }, options).view.marks).toBeUndefined();
    const many = body([
      user('go'),
      ...Array.from({ length: 9 }, (_, n) => step(`c${n}`, 'find', lines(90, `${n}`))).flat(),
    ]);
    const input = { mode: 'compact', token_budget: 3_000 } as const;
    expect(viewOf(many, input).view.marks).toBeUndefined();
    expect(viewOf(many, input, options).view.marks?.length).toBeGreaterThan(1);
  });
});

describe('a mark on the wire', () => {
  const many = [
    user('go'),
    ...Array.from({ length: 9 }, (_, n) => step(`c${n}`, 'find', lines(90, `${n}`))).flat(),
  ];
  const input = { mode: 'compact', token_budget: 3_000 } as const;

  it('is on the last part of a content, and turns a string into one part', () => {
    const viewed = viewOf(body(many), input, options);
    const bytes = viewed.request.write(viewed.view, { marks: MOST });
    const { messages } = JSON.parse(new TextDecoder().decode(bytes)) as { messages: Json[] };
    expect(messages[0]).toEqual(user([{ type: 'text', text: 'go', prompt_cache_breakpoint: MARK }]));
    const [, last] = written(viewed).marked;
    expect(messages[last ?? -1]?.role).toBe('tool');
    expect(JSON.stringify(messages[last ?? -1])).toContain('ref=ref_');
  });

  it('is not put on a content of the caller’s that has one, on an empty one, or on a legacy result', () => {
    const marked = { type: 'text', text: 'go', prompt_cache_breakpoint: MARK };
    const own = [user([marked]), ...many.slice(1)];
    const viewed = viewOf(body(own), input, options);
    const text = new TextDecoder().decode(viewed.request.write(viewed.view, { marks: MOST }));
    expect(marksIn(new TextEncoder().encode(text), 9)).toBe(written(viewed).marked.length);
    expect(text).toContain(JSON.stringify(own[0]));

    const empty = viewOf(body([user(''), ...many.slice(1)]), input, options);
    expect(written(empty).marked).not.toContain(0);
  });

  it('is counted in a body, no further than asked', () => {
    const part = { type: 'text', text: 'x', prompt_cache_breakpoint: MARK };
    const bytes = new TextEncoder().encode(JSON.stringify(body([user([part, part, part, part])])));
    expect([0, 2, 9].map((most) => marksIn(bytes, most))).toEqual([0, 2, 4]);
    const none = readChatRequest(new TextEncoder().encode(JSON.stringify(body([user('go')]))));
    expect(none.ok && marksIn(none.value.bytes, 9)).toBe(0);
  });
});
