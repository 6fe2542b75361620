import type { Context } from 'hono';
import type { AppEnv } from '../request/services.ts';

/** What a handler takes. */
export type RouteContext = Context<AppEnv>;
