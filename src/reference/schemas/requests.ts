/** What the routes of requests answer: the events of `memory/run/`. */
import * as z from 'zod';
import { shownSumsSchema } from '../../memory/money/bill-schema.ts';
import {
  listedRunSchema,
  outlinedMessageSchema,
  runEditSchema,
  runEventSchema,
} from '../../memory/run/event.ts';
import { name, page, seconds } from './common.ts';

const times = { created_at: seconds };
const listedRun = z.strictObject({ ...listedRunSchema.shape, ...times });
name(listedRun, 'ListedRequest');

export const requestPage = z.strictObject({
  ...page(listedRun).shape,
  bill: shownSumsSchema,
  behind_ms: z.literal(0).describe('Always 0; the next version drops it.'),
  lost: z.literal(0).describe('Always 0; the next version drops it.'),
});

export const outlinedRun = z.strictObject({
  ...runEventSchema.shape,
  ...times,
  outline: z.array(outlinedMessageSchema).describe("What happened to each message of the caller's array."),
});
name(outlinedRun, 'Request');

export const requestWhy = z.strictObject({
  object: z.literal('memory.request.why'),
  ...runEventSchema.pick({ n: true, request_id: true }).shape,
  why: z.string().describe('What was done, what was not, and because of what.'),
});
name(requestWhy, 'RequestWhy');

export const shownEditList = z.strictObject({
  object: z.literal('list'),
  data: z.array(
    z.strictObject({
      ...runEditSchema.pick({ message: true, kind: true, call: true }).shape,
      text: z
        .string()
        .nullable()
        .describe('Null for reasoning, and where the text does not follow from the array.'),
    }),
  ),
});
name(shownEditList, 'ShownEdits');

export type RequestPage = z.output<typeof requestPage>;
export type ShownEdits = z.output<typeof shownEditList>;
