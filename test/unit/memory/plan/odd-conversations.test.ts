/** Odd arrays under every strategy with values at its limits. */
import { describe, expect, it } from 'vitest';
import { violations } from '../../../../tools/upstream/strict-chat.ts';
import { tools } from '../../../support/clients/agent-run.ts';
import { ATTEMPTS, ODD, requestIn, TOO_SHORT } from '../../../support/conversations/odd-conversations.ts';
import { brokenLaws } from '../../../support/laws/laws.ts';
import { messagesOf, short, viewOf } from '../../../support/laws/view-of.ts';

describe('whatever the strategy, the upstream accepts the view of', () => {
  it.each(ODD)('%s', (_, messages) => {
    const body = { model: 'gpt-4.1', tools, messages };
    let summaries = 0;
    for (const { strategy, force } of ATTEMPTS) {
      const what = JSON.stringify({ strategy, force });
      const viewed = viewOf(body, strategy, { force, words: short, digestOf: () => undefined });
      const sent = messagesOf(viewed);
      expect(violations({ ...body, messages: sent }), what).toEqual([]);
      expect(brokenLaws(viewed), what).toEqual([]);
      const { tokens } = viewed.report;
      expect(tokens?.after, what).toBeLessThanOrEqual(tokens?.before ?? 0);
      expect(JSON.stringify(sent).length, what).toBeLessThanOrEqual(JSON.stringify(messages).length + 400);
      expect(JSON.stringify(sent), what).toContain(requestIn(messages) ?? '');
      if (strategy.mode === 'summarize' && viewed.view.summary) summaries++;
    }
    if (messages.length > TOO_SHORT) expect(summaries).toBeGreaterThan(0);
  });
});
