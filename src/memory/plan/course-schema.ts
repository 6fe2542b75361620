/** The shape of a course: the requests of a conversation, with their tokens and prices. */
import * as z from 'zod';
import { count } from '../shapes.ts';

/** In nanodollars; null if it is not known. */
const price = count.nullable();

/** Before: of the array, with the tools. After: of the view. */
const courseRequestSchema = z.strictObject({
  /** How many messages the array had. */
  messages: count,
  before: count,
  after: count,
  /** Whether the frontier moved. */
  moved: z.boolean(),
  price_before: price,
  price_after: price,
});

/** One for each request point, in order. */
export const courseSchema = z.array(courseRequestSchema);

export type CourseRequest = z.output<typeof courseRequestSchema>;
export type Course = readonly CourseRequest[];
