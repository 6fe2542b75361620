import { describe, expect, it } from 'vitest';
import { viewItems } from '../../../../src/memory/plan/view.ts';
import { clearingStrategy, richConversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { type Viewed, viewOf } from '../../../support/laws/view-of.ts';

/** The items of a view by type, as its report has them. */
function reported({ report }: Viewed): Record<string, number> {
  return Object.fromEntries(
    report.applied_edits.map((edit) => {
      if ('messages' in edit) return [edit.type, edit.messages];
      const others = edit.type === 'compact' ? edit.cleared_tool_inputs + (edit.cleared_parts ?? 0) : 0;
      return [edit.type, edit.cleared_tool_results + others];
    }),
  );
}

describe('the items of a view', () => {
  it('are as many of each type as the report has, each with a name of its own', () => {
    forAll(
      { numRuns: runs(20, 200), endOnFailure: true },
      richConversation,
      clearingStrategy,
      (body, strategy) => {
        const viewed = viewOf(body, strategy);
        const items = viewItems(viewed.view);
        const counts: Record<string, number> = {};
        for (const { type } of items) counts[type] = (counts[type] ?? 0) + 1;
        expect(counts).toEqual(reported(viewed));
        expect(new Set(items.map(({ name }) => name)).size).toBe(items.length);
      },
    );
  });
});
