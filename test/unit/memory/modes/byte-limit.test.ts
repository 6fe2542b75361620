import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import type { ModelRequest } from '../../../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { refusedBlock } from '../../../../tools/upstream/bound-thinking.ts';
import type { ConversationBody } from '../../../support/conversations/arbitrary-conversation.ts';
import {
  assistant,
  body,
  calls,
  lines,
  type Message,
  result,
  user,
} from '../../../support/conversations/chat.ts';
import { blocksOf, growWithThinking } from '../../../support/conversations/thinking.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { messagesOf, type Viewed, viewOf, viewOfRequest, viewsOf } from '../../../support/laws/view-of.ts';

/** An image of its own, with this many bytes of base64. */
const image = (name: string, bytes: number): Message => {
  const seed = createHash('sha256').update(name).digest('base64');
  const data = seed.repeat(Math.ceil(bytes / seed.length)).slice(0, bytes);
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } };
};
const file = (name: string, bytes: number): Message => ({
  type: 'file',
  file: {
    filename: `${name}.pdf`,
    file_data: `data:application/pdf;base64,${'QUJD'.repeat(bytes / 4)}${name}`,
  },
});
const text = (words: string): Message => ({ type: 'text', text: words });

/** A step that gives a screenshot. */
const shot = (id: string, bytes: number): Message[] => [
  calls([id, 'screenshot']),
  result(id, [text(`Screen ${id}.`), image(id, bytes)]),
];

const AUTO: MemoryStrategyRequest = { mode: 'auto' };
const bytesOf = (viewed: Viewed): number => viewed.bytes.length;
const shown = (viewed: Viewed): string => JSON.stringify(messagesOf(viewed));

/** Whether an image or file of a message is in a view. */
function isShown(viewed: Viewed, message: Message): boolean {
  const data = /base64,([^"]{40,})"/.exec(JSON.stringify(message))?.[1];
  return data !== undefined && shown(viewed).includes(data);
}

describe('a body near its limit of bytes', () => {
  const shots = Array.from({ length: 8 }, (_, at) => shot(`call_${at}`, 50_000)).flat();
  const thread = [user('Look.'), ...shots];

  it('loses the oldest images that the model has seen, under refs, and keeps pairs whole', () => {
    const viewed = viewOf(body(thread), AUTO, { byteLimit: 300_000 });
    const messages = messagesOf(viewed);
    expect(bytesOf(viewed)).toBeLessThan(300_000);
    const marked = messages.map((message) => /⟦removed: .*ref=ref_/.test(JSON.stringify(message)));
    const first = marked.indexOf(true);
    const last = marked.lastIndexOf(true);
    expect(first).toBe(2);
    expect(messages.slice(last + 1)).toEqual(thread.slice(last + 1));
    expect(messages.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual(
      thread.map(({ role, tool_call_id }) => [role, tool_call_id]),
    );
    const { report, plan } = viewed;
    expect(report.bytes).toEqual({ before: plan.bytes?.before, after: plan.bytes?.after, limit: 300_000 });
    expect(report.refs).toHaveLength(marked.filter(Boolean).length);
    expect(report.frontier.moved).toBe(report.trigger === 'upstream_limit');
  });

  it('costs nothing where it is below, or where no limit is known', () => {
    const whole = viewOf(body(thread), AUTO);
    const below = viewOf(body(thread), AUTO, { byteLimit: 10_000_000 });
    for (const { report, view } of [whole, below]) {
      expect(report.bytes).toBeUndefined();
      expect(view.removals.size).toBe(0);
    }
  });

  it('says what the body has, to a few bytes of fields', () => {
    const viewed = viewOf(body(thread), AUTO, { byteLimit: 300_000 });
    expect(Math.abs((viewed.report.bytes?.after ?? 0) - bytesOf(viewed))).toBeLessThan(1_000);
    expect((viewed.report.bytes?.before ?? 0) / JSON.stringify(body(thread)).length).toBeGreaterThan(0.99);
  });

  it('keeps the images of the current request, and of the first one', () => {
    const first = user([text('Compare with this.'), image('first', 60_000)]);
    const asking = user([text('And this one?'), image('asking', 60_000)]);
    const earlier = user([text('What is this?'), image('earlier', 60_000), file('report', 60_000)]);
    const messages = [
      first,
      assistant('Yes.'),
      earlier,
      assistant('A cat.'),
      asking,
      ...shot('call_1', 9_000),
    ];
    const viewed = viewOf(body(messages), AUTO, { byteLimit: 180_000 });
    expect([first, earlier, asking].map((message) => isShown(viewed, message))).toEqual([true, false, true]);
    expect(bytesOf(viewed)).toBeLessThan(180_000);
  });

  it('says that it is over where nothing more may leave', () => {
    const messages = [user([image('one', 90_000)])];
    const { report } = viewOf(body(messages), AUTO, { byteLimit: 70_000 });
    expect(report.warnings).toContain('over_budget');
    expect(report.bytes?.after).toBe(report.bytes?.before);
  });

  it('loses nothing that could not be fetched', () => {
    const viewed = viewOf(body(thread), { mode: 'auto', compact_offload: false }, { byteLimit: 300_000 });
    expect(viewed.view.removals.size).toBe(0);
  });

  it('does so in mode compact', () => {
    const viewed = viewOf(body(thread), { mode: 'compact' }, { byteLimit: 300_000 });
    expect(bytesOf(viewed)).toBeLessThan(300_000);
    expect(viewed.report.bytes?.limit).toBe(300_000);
  });
});

describe('generated threads of images', () => {
  const size = fc.integer({ min: 200, max: 40_000 });
  const turn = fc.oneof(
    size.map((bytes) => (id: string): Message[] => [user([text(id), image(id, bytes)]), assistant('Seen.')]),
    fc.array(size, { minLength: 1, maxLength: 5 }).map((all) => (id: string): Message[] => [
      user(`Look at ${id}.`),
      ...all.flatMap((bytes, at) => shot(`${id}_${at}`, bytes)),
      assistant('Done.'),
    ]),
    fc.integer({ min: 1, max: 200 }).map((count) => (id: string): Message[] => [
      user(`Read ${id}.`),
      calls([id, 'read']),
      result(id, lines(count)),
      assistant('Read.'),
    ]),
  );
  const thread = fc
    .array(turn, { minLength: 1, maxLength: 8 })
    .map((turns) => turns.flatMap((make, at) => make(`t${at}`)).slice(0, -1));
  const strategy = fc.constantFrom<MemoryStrategyRequest>(
    AUTO,
    { mode: 'auto', token_budget: 12_000, min_reclaim_tokens: 0, compact_retrieval: 'off' },
    { mode: 'compact', token_budget: 6_000 },
  );
  const limit = fc.integer({ min: 50_000, max: 200_000 });

  it('never lose an image before the model has seen it, stay within the limit where what may leave suffices, and extend each other between reported moves', () => {
    let shrunk = 0;
    forAll(runs(12, 400), thread, strategy, limit, (messages, input, byteLimit) => {
      const views = viewsOf(body(messages), input, { byteLimit });
      let before: Message[] = [];
      for (const [index, viewed] of views.entries()) {
        const sent = messagesOf(viewed);
        const seen = views[index - 1]?.plan.history.messages.length ?? 0;
        const array = messages.slice(0, viewed.plan.history.messages.length);
        for (const message of array.slice(seen))
          if (JSON.stringify(message).includes('base64,'))
            expect(shown(viewed)).toContain(JSON.stringify(message));
        if (!viewed.report.frontier.moved) expect(sent.slice(0, before.length)).toEqual(before);
        before = sent;
        const { bytes } = viewed.report;
        if (!bytes) continue;
        if (viewed.view.removals.size > 0) shrunk++;
        if (bytes.after <= 0.97 * byteLimit) continue;
        // What is left is fresh, of the current request, of the first one, small, or text.
        const { turns, units } = viewed.plan.history;
        const asking = units[turns.at(-1) ?? 0]?.first ?? 0;
        const first = array.findIndex(({ role }) => role === 'user');
        for (const [at, message] of array.slice(0, seen).entries()) {
          const isPart = message.role === 'user';
          const stays = isPart && (at >= asking || (at === first && input !== undefined));
          const isLarge = JSON.stringify(message).length > 8_000;
          if (isLarge && !stays) expect(isShown(viewed, message)).toBe(false);
        }
      }
    });
    expect(shrunk).toBeGreaterThan(0);
  });

  it('take along what was thought until then where it is bound, and nothing between two moves', () => {
    let moves = 0;
    const bound = fc.constantFrom(
      ['gpt-6.2-sol', 'responses', readResponsesRequest] as const,
      ['claude-fable-5.2', 'openrouter', readChatRequest] as const,
    );
    forAll(
      runs(12, 200),
      thread,
      strategy,
      limit,
      bound,
      (messages, input, byteLimit, [model, dialect, read]) => {
        const conversation = { model, messages } as ConversationBody;
        const requests = growWithThinking(
          conversation,
          dialect,
          () => true,
          (grown) => {
            const asked = read(new TextEncoder().encode(JSON.stringify(grown)));
            if (!asked.ok) throw new Error(asked.reason.message);
            const viewed = viewOfRequest<ModelRequest>(asked.value, input, { byteLimit });
            return { viewed, sent: JSON.parse(new TextDecoder().decode(viewed.bytes)) };
          },
        );
        const leftOf = (at: number) => {
          const { came = {}, sent = {} } = requests[at] ?? {};
          return blocksOf(came) - blocksOf(sent);
        };
        for (const [at, { sent, viewed }] of requests.entries()) {
          expect(refusedBlock(sent)).toBeUndefined();
          const { report, plan } = viewed;
          if (!report.frontier.moved) expect(leftOf(at)).toBe(leftOf(at - 1));
          else if (report.trigger === 'upstream_limit') moves++;
          // Where only bytes are due, it is known how much the move before has taken.
          if (report.frontier.moved && input === AUTO)
            expect(plan.thinking?.blocksBefore ?? 0).toBe(leftOf(at - 1));
        }
      },
    );
    expect(moves).toBeGreaterThan(5);
  });
});
