/** `none`: requests are forwarded unchanged. */
import * as z from 'zod';
import { archiveField, cacheMarks, upstreamApi } from '../strategy/fields.ts';
import type { MemoryMode } from './mode.ts';

const schema = z.strictObject({
  mode: z.literal('none'),
  archive: archiveField.optional(),
  cache_marks: cacheMarks,
  upstream_api: upstreamApi,
});

export type NoneStrategy = z.output<typeof schema>;

export const none = { schema, passesThrough: true } as const satisfies MemoryMode<NoneStrategy>;
