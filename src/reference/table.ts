/** The table of all routes. A new route is one entry of these. */
import type { Operation } from './operation.ts';
import { CALLERS, SESSIONS } from './operations/callers.ts';
import { CONVERSATIONS } from './operations/conversations.ts';
import { MODELS } from './operations/models.ts';
import { REQUESTS } from './operations/requests.ts';
import { STORED } from './operations/stored.ts';

export const OPERATIONS: readonly Operation[] = [
  ...MODELS,
  ...CONVERSATIONS,
  ...REQUESTS,
  ...STORED,
  ...CALLERS,
  ...SESSIONS,
];
