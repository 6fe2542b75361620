/** The shape of `GET /v1/stats/comparison`. */
import * as z from 'zod';
import { count, name, tokens } from './common.ts';

const estimate = z
  .strictObject({
    value: z.number(),
    margin: z.number().nullable().describe('Null: too few conversations for an interval.'),
  })
  .nullable()
  .describe('A share with its interval of 95 %: `value` ± `margin`; null: not known.');
name(estimate, 'Estimate');

const side = z
  .strictObject({
    conversations: count,
    requests: count.describe('That the model has answered.'),
    before: tokens.describe('Of the arrays.'),
    after: tokens.describe('Of the views that were sent, or would have been.'),
    paid: count.nullable().describe('What they have really cost, with summaries.'),
    compared: count.describe('Requests whose array and view both have a price.'),
    whole: count.nullable().describe('What the arrays cost, or would have.'),
    saved: z.int().nullable().describe('What the views cost less, or would have.'),
    saving: estimate,
    answers: count.describe('Whose [words](answers-and-errors.md#what-is-missed) were looked at.'),
    words: count,
    missed: count,
  })
  .nullable();
name(side, 'TrialSide');

export const statsComparison = z.strictObject({
  object: z.literal('memory.stats.comparison'),
  days: count,
  data: z
    .array(
      z.strictObject({
        mode: z.string(),
        text: z.string().describe('In a few sentences.'),
        observed: side.describe('What was only observed; null: nothing.'),
        sent: side.describe('What the strategy was applied to; null: nothing.'),
        between: z
          .strictObject({
            cost: estimate.describe('How much less a request has really cost there.'),
            requests: estimate.describe('How many requests fewer a conversation has there.'),
          })
          .nullable()
          .describe('How both sides differ.'),
      }),
    )
    .describe('By mode: strategies of one mode, such as two budgets, are added up.'),
});
name(statsComparison, 'StatsComparison');

export type StatsComparison = z.output<typeof statsComparison>;
export type ShownSide = NonNullable<z.output<typeof side>>;
