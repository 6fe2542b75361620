/** What the operator's overview answers. */
import * as z from 'zod';
import { count, name } from './common.ts';
import { lossesSchema, statsByDay, sumsOfDays } from './conversations.ts';

const use = {
  requests: count,
  failed: count,
  paid: count.nullable().describe('In nanodollars, with the summarizer; null if it is not known.'),
  net: z.int().nullable().describe('Saved, net.'),
};

const alert = z.strictObject({
  code: z.enum(['upstream', 'failing', 'budget', 'unpriced', 'misses', 'losing', 'retiring']),
  level: z.enum(['act', 'watch']).describe('`act`: something does not work, or soon will not.'),
  caller: z.string().nullable(),
  model: z.string().nullable(),
  message: z.string(),
});
name(alert, 'OverviewAlert');

export const overview = z.strictObject({
  object: z.literal('memory.overview'),
  days: count,
  from: z.iso.date(),
  to: z.iso.date().describe('Today (UTC).'),
  behind_ms: count.describe('How old a request may be without being in the sums yet.'),
  read: z
    .strictObject({
      active: count.describe('Tenants that were seen in these days.'),
      read: count.describe('Active tenants that were asked, the last seen first.'),
      failed: count.describe('Tenants that did not answer, and are in no sum.'),
      storage_calls: count,
    })
    .describe('What the sums are made from.'),
  text: z.string().describe('The summary of all callers, as in `GET /v1/stats/summary`.'),
  lost: count.nullable(),
  unbilled: count,
  total: sumsOfDays,
  data: statsByDay.shape.data,
  losses: z.strictObject(lossesSchema),
  alerts: z.array(alert).describe('What does not work comes first.'),
  callers: z
    .array(z.strictObject({ name: z.string(), ...use, unbilled: count }))
    .describe('The dearest first, by their conversations or by what their limits count.'),
  conversations: z
    .array(
      z.strictObject({
        caller: z.string(),
        conversation: z.string().describe('Its digest, as in the log; never its name.'),
        model: z.string().nullable(),
        ...use,
      }),
    )
    .describe('The ten that have cost most.'),
});
name(overview, 'Overview');

export type Overview = z.output<typeof overview>;
export type ShownOverview = Overview;
