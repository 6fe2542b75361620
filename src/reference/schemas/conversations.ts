/** What the routes of conversations, users and statistics answer. */
import * as z from 'zod';
import { shownSumsSchema } from '../../memory/money/bill-schema.ts';
import { reportedSummarySchema, warningSchema } from '../../memory/plan/report-schema.ts';
import { cacheMissSchema } from '../../memory/replay/change-schema.ts';
import { missSumSchema, modelSumSchema } from '../../memory/run/named-sums.ts';
import { healthSchema, overviewSchema, timesSchema } from '../../storage/conversation/memory-schema.ts';
import { count, deletion, givenId, name, page, seconds, tokens } from './common.ts';

export const listedConversation = z.strictObject({
  id: z.string().nullable().describe('Null for one that its caller has not named.'),
  object: z.literal('memory.conversation'),
  user: z.string().nullable(),
  opening: z.string().nullable().describe('Of one without a name: the hash of its first messages.'),
  status: z.enum(['healthy', 'degraded', 'stuck']),
  health: healthSchema,
  last_used_at: seconds.nullable().describe('Seconds since 1970, exact to an hour.'),
  tokens: tokens.nullable().describe('Of the newest summary; null without one.'),
  versions: count.describe('Versions of the summary that are kept.'),
  requests: count.describe('Those that have left an event.'),
  last_request_at: seconds.nullable().describe('Of the newest one.'),
  last_request_status: z
    .int()
    .nullable()
    .describe("The HTTP status of the newest one's answer; null without a request."),
  model: z.string().nullable().describe('Of the newest one.'),
  agent: z.string().nullable().describe('The agent that the newest request chose; null without one.'),
  bill: shownSumsSchema,
});
name(listedConversation, 'Conversation');

export const conversationPage = page(listedConversation);

export const conversationMemory = z.strictObject({
  id: givenId,
  object: z.literal('memory.conversation'),
  memory_strategy: z.unknown().describe('As it was set; null if it is not.'),
  memory_injection: z.unknown().describe('As it was set; null if it is not.'),
  ...overviewSchema.shape,
});
name(conversationMemory, 'ConversationMemory');

export const flushedMemory = z.strictObject({
  ...conversationMemory.shape,
  up_to_date: z
    .boolean()
    .describe(
      'False with a 202: something is still being made, or the newest version could not be made, as `health` and its `status` show.',
    ),
});

export const deletedConversation = deletion('memory.conversation.deleted', { id: givenId });

export const archivedMessage = z.strictObject({
  object: z.literal('conversation.message'),
  position: count.describe('Its index in the array of its request.'),
  created_at: seconds,
  snippet: z.string().exactOptional().describe('The text around the words. Of a search alone.'),
  message: z
    .union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown()))])
    .nullable()
    .describe('Unchanged, an array of items if it consists of several; null if it is lost or damaged.'),
});
name(archivedMessage, 'ArchivedMessage');

export const messagePage = z.strictObject({
  ...page(archivedMessage).shape,
  warnings: z.array(warningSchema).exactOptional(),
});

export const endedConversation = z.strictObject({
  id: givenId,
  object: z.literal('memory.conversation.ended'),
  summary: reportedSummarySchema.nullable(),
  published: z.boolean().describe("Whether the user's other conversations get it."),
  warnings: z.array(warningSchema),
});

const windows = z
  .strictObject({ avg_size: count.nullable(), max_size: count.nullable(), count })
  .describe('Of the rolling memories among them, in sequence numbers.');

export const stats = z.strictObject({
  object: z.literal('memory.stats'),
  conversations: count.describe('How many were read: the newest 100.'),
  by_status: z.strictObject({ healthy: count, degraded: count, stuck: count }),
  ...timesSchema.shape,
  windows,
  progression: z
    .array(z.strictObject({ date: z.iso.date(), ...timesSchema.shape, windows }))
    .describe('By the day (UTC) on which summaries were completed.'),
  bill: shownSumsSchema.describe('Of these conversations together.'),
});
name(stats, 'Stats');

const amounts = shownSumsSchema.shape;
const dayBill = z.strictObject({
  unit: amounts.unit,
  billed: count.describe('Requests whose bill is known completely. Only these are in the sums.'),
  about: count.describe('Bills whose cache writes are estimated.'),
  would_be: count.nullable(),
  actual: amounts.actual,
  net: amounts.net,
  debits: amounts.debits,
});
name(dayBill, 'DayBill');

const observedSums = z
  .strictObject({
    requests: count,
    tokens: z.strictObject({ before: tokens, would_be: tokens }),
    billed: count.describe('Those whose potential savings are known.'),
    net: z.int().nullable(),
  })
  .describe('Requests that were only observed, and what they would have saved.');
name(observedSums, 'ObservedSums');

const missedSum = z.strictObject({ cause: cacheMissSchema.shape.cause, ...missSumSchema.shape });
name(missedSum, 'MissedSum');

const failureSum = z.strictObject({
  status: z.string().describe('Of the answer; `broken`: the upstream has broken off a stream.'),
  requests: count,
});
name(failureSum, 'FailureSum');

const modelSum = z.strictObject({
  model: z.string().nullable().describe('As requests name it; null: none, or one of many more.'),
  ...modelSumSchema.shape,
});
name(modelSum, 'ModelSum');

const sums = {
  requests: count.describe('Those that have left an event.'),
  failed: count.describe('Those whose answer was an error.'),
  tokens: z.strictObject({ before: tokens, sent: tokens }),
  bill: dayBill,
  missed: z.array(missedSum).describe('What was not read from the cache, by cause, the dearest first.'),
  failures: z.array(failureSum).describe('Answers that have failed, by status, the most frequent first.'),
  models: z.array(modelSum).describe('The 20 models that have cost most.'),
  observed: observedSums,
};
export const sumsOfDays = z.strictObject(sums);

export const statsByDay = z.strictObject({
  object: z.literal('memory.stats.days'),
  days: count,
  behind_ms: count.describe('How old a request may be without being in the sums yet.'),
  total: sumsOfDays,
  data: z.array(z.strictObject({ date: z.iso.date(), ...sums })).describe('By day (UTC), oldest first.'),
});
name(statsByDay, 'StatsByDay');

export const lossCause = z
  .enum(['summarizer', 'fetch_rounds', 'broken_cache', 'added'])
  .describe('What most of the loss was paid for.');

export const lossesSchema = {
  conversations: count.describe('How many have cost more than their whole arrays would have.'),
  amount: count.describe('What they have cost more together, in nanodollars.'),
  causes: z.array(
    z.strictObject({
      cause: lossCause,
      conversations: count,
      because: z.string().describe('The end of a sentence.'),
    }),
  ),
};

/** What the summaries of a caller and of a deployment share. */
export const periodShape = {
  days: count,
  from: z.iso.date(),
  to: z.iso.date().describe('Today (UTC).'),
  behind_ms: count.describe('How old a request may be without being in the sums yet.'),
  text: z.string().describe('All of it in a few sentences, without names.'),
  total: sumsOfDays,
  lost: count
    .nullable()
    .describe('Answers with a status of 500 or more, or that the upstream broke off; null: not known.'),
  unbilled: count.describe('Answers that have no complete bill, and are left out of amounts.'),
};

export const periodSummary = z.strictObject({
  object: z.literal('memory.stats.summary'),
  ...periodShape,
  losses: z.strictObject({
    ...lossesSchema,
    largest: z
      .array(
        z.strictObject({
          id: z.string().nullable().describe('Null for a conversation that its caller has not named.'),
          user: z.string().nullable(),
          opening: z.string().nullable(),
          amount: count,
          cause: lossCause,
        }),
      )
      .describe('The ten that have lost most.'),
  }),
});
name(periodSummary, 'PeriodSummary');

export type ListedConversation = z.output<typeof listedConversation>;
export type ConversationMemory = z.output<typeof conversationMemory>;
export type ArchivedMessage = z.output<typeof archivedMessage>;
export type PeriodSummary = z.output<typeof periodSummary>;
export type SumsOfDays = z.output<typeof sumsOfDays>;
export type StatsByDay = z.output<typeof statsByDay>;

export const userMemory = z.strictObject({
  user: givenId,
  object: z.literal('memory.user'),
  injection: z
    .strictObject({ text: z.string(), tokens, conversations: z.array(z.string()) })
    .nullable()
    .describe('The block that a new conversation gets; null without one.'),
  conversations: z.array(z.strictObject({ id: z.string(), text: z.string(), updated_at: seconds })),
  passages: z
    .array(z.strictObject({ text: z.string(), created_at: seconds }))
    .describe('Passages that models have kept for the user, newest first.'),
});
name(userMemory, 'UserMemory');

export const deletedUser = deletion('memory.user.deleted', { user: givenId });
export const deletedUserEntry = deletion('memory.user.conversation.deleted', {
  id: givenId,
  user: givenId,
});

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
