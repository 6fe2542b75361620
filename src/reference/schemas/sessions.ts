/** What the routes of the inspector's sign-ins take and answer. */
import * as z from 'zod';
import { deletion, name, seconds } from './common.ts';

export const sessionBody = z.strictObject({
  keep: z
    .enum(['tab', 'browser'])
    .describe('`tab`: the answer has `kept`. `browser`: a cookie has it, which no script can read.'),
});

export const session = z.strictObject({
  object: z.literal('memory.session'),
  token: z.string().describe('Sent as `Authorization: Bearer`, instead of the key.'),
  ends_at: seconds.describe('When the token ends.'),
  expires_in: z.int().describe('The same in seconds from now, for a browser with another clock.'),
  kept_until: seconds.describe('When the sign-in ends.'),
  kept: z.string().optional().describe('Renews the sign-in, as the header `x-precis-session`.'),
  csrf: z.string().optional().describe('Renews the sign-in with the cookie, as the header `x-precis-csrf`.'),
});
name(session, 'Session');

export const deletedSession = deletion('memory.session.deleted', {
  everywhere: z.boolean().describe('Whether all sign-ins of the key are over.'),
});

export type SessionAnswer = z.output<typeof session>;
