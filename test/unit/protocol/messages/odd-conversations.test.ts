/** Conversations that only this protocol has: what the API accepts, it accepts in every mode. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import {
  strategy as anyStrategy,
  autoStrategy,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { lines } from '../../../support/conversations/chat.ts';
import { oddMessages } from '../../../support/conversations/odd-messages.ts';
import { ADDITIONS, brokenInMessages, parsed, viewInMessages } from '../../../support/laws/in-messages.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';

type Json = Record<string, unknown>;

/** A step that reads a page. */
const read = (page: number): Json[] => [
  { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${page}`, name: 'read', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${page}`, content: lines(60) }] },
];

const bodyOf = (messages: readonly Json[]): Json => ({
  model: 'claude-opus-5-5',
  max_tokens: 1_000,
  messages,
});

describe('an odd conversation in Messages', () => {
  it('is accepted in each mode if it was before', () => {
    const numRuns = runs(5, 60);
    let edited = 0;
    forAll(
      { numRuns, endOnFailure: true },
      oddMessages,
      fc.oneof(autoStrategy, anyStrategy),
      fc.record({ retrieval: fc.boolean(), marks: fc.boolean(), force: fc.boolean() }),
      fc.nat(),
      (body, input, options, place) => {
        fc.pre(violations(body).length === 0);
        const viewed = viewInMessages(body, input, options);
        const { request, view, report } = viewed;
        if (report.applied_edits.length > 0) edited++;
        expect(Buffer.compare(request.write(undefined), request.bytes)).toBe(0);
        expect(brokenInMessages(viewed)).toEqual([]);
        expect(violations(parsed(request.write(view, ADDITIONS)))).toEqual([]);
        // Models that bind their thinking have no such mode.
        if ((body.thinking as Json | undefined)?.type === 'enabled') return;
        const thinkingFrom = place % (request.messages.length + 2);
        for (const edits of [view, undefined])
          expect(violations(parsed(request.write(edits, { ...ADDITIONS, thinkingFrom })))).toEqual([]);
      },
    );
    expect(edited).toBeGreaterThan(numRuns / 6);
  });

  it('keeps the effort that messages of the system set, whatever leaves around them', () => {
    const effort = (of: string): Json => ({ role: 'system', content: [], output_config: { effort: of } });
    const body = bodyOf([
      { role: 'user', content: 'Read.' },
      effort('medium'),
      ...read(1),
      effort('high'),
      ...read(2),
      { role: 'system', content: 'A hook says so.' },
      ...read(3),
      { role: 'assistant', content: 'I have read.' },
      effort('low'),
      { role: 'user', content: 'And now?' },
    ]);
    expect(violations(body)).toEqual([]);
    for (const mode of ['summarize', 'trim', 'auto'] as const) {
      const viewed = viewInMessages(body, { mode, token_budget: 300, keep_last_n_turns: 1 }, { force: true });
      const { messages } = parsed(viewed.bytes) as { messages: Json[] };
      const settings = messages.flatMap(({ output_config: set }) => set ?? []);
      expect([mode, settings.at(-1)]).toEqual([mode, { effort: 'low' }]);
      expect(violations(parsed(viewed.bytes))).toEqual([]);
      expect([mode, viewed.report.applied_edits.length > 0]).toEqual([mode, true]);
    }
  });

  it('can lose an image at the beginning of a message that a summary opens', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo'.repeat(80) };
    const body = bodyOf([
      { role: 'user', content: lines(60) },
      ...read(1),
      { role: 'user', content: [{ type: 'image', source }] },
      ...read(2),
      { role: 'user', content: [{ type: 'text', text: 'And this?' }] },
    ]);
    const input = { mode: 'auto', token_budget: 3, compact_keep: 0 } as const;
    const viewed = viewInMessages(body, input, { force: true });
    expect(violations(parsed(viewed.bytes))).toEqual([]);
    expect(viewed.view.summary?.form).toBe('request');
  });
});
