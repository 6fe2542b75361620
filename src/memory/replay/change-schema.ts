/** The shapes of causes: why a request does not extend the one before it, and what it has lost. */
import * as z from 'zod';
import type { CallerChange } from '../conversation/request-prefix.ts';
import { count, name } from '../shapes.ts';
import { TRIGGERS } from './reasons.ts';

/** The caller's. */
export const CALLER_CAUSES = [
  'model',
  'key',
  'user',
  'tools',
  'effort',
  'format',
  'message',
] as const satisfies readonly CallerChange['cause'][];

/** Precis's. */
const OWN_CAUSES = ['move', 'rounds', 'hosted', 'unread', 'own_tools', 'instructions', 'added'] as const;

const CHANGE_CAUSES = [...CALLER_CAUSES, ...OWN_CAUSES] as const;

export type OwnCause = (typeof OWN_CAUSES)[number];

const details = {
  message: count
    .exactOptional()
    .describe("The first message that the caller has changed, as its index in the caller's array."),
  trigger: z.enum(TRIGGERS).exactOptional().describe('Of a move that the request has made.'),
};
const by = z.enum(['precis', 'vendor']).describe('Who has found the cause.');

export const changeSchema = z.strictObject({ cause: z.enum(CHANGE_CAUSES), ...details });
name(changeSchema, 'Change');

export const droppedReasoningSchema = z.strictObject({
  blocks: count.describe('Items or blocks of reasoning.'),
  ...changeSchema.shape,
  by,
});
name(droppedReasoningSchema, 'DroppedReasoning');
export type DroppedReasoning = z.output<typeof droppedReasoningSchema>;

/** Beside changes. `vendor`: nothing else explains it. `unknown`: not all can be compared. */
const MISS_CAUSES = [...CHANGE_CAUSES, 'tier', 'lifetime', 'short', 'mark', 'vendor', 'unknown'] as const;
export type MissCause = (typeof MISS_CAUSES)[number];

/** Why an answer has read less from the vendor's cache than it could have. */
export const cacheMissSchema = z.strictObject({
  cause: z.enum(MISS_CAUSES),
  ...details,
  by,
  tokens: count.describe('Tokens that the cache had, and that were not read.'),
  amount: count.nullable().describe('What they have cost more than a read, in nanodollars.'),
});
name(cacheMissSchema, 'CacheMiss');
export type CacheMiss = z.output<typeof cacheMissSchema>;
