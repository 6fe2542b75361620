/** What the routes of requests answer: the events of `memory/run/`. */
import { z } from 'zod';
import { billSchema, toldSumsSchema } from '../../memory/money/bill-schema.ts';
import { listedRunSchema, runEventSchema } from '../../memory/run/event.ts';
import { outlinedMessageSchema } from '../../memory/run/outline.ts';
import { name, page } from './common.ts';

name(listedRunSchema, 'ListedRequest');

name(billSchema, 'Bill');

export const requestPage = z.strictObject({ ...page(listedRunSchema).shape, bill: toldSumsSchema });

export const outlinedRun = z.strictObject({
  ...runEventSchema.shape,
  outline: z.array(outlinedMessageSchema).describe("What became of each message of the caller's array."),
});
name(outlinedRun, 'Request');
