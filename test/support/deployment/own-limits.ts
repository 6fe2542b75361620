/** Sets time limits before any other module of the Worker can read them. */
import { env } from 'cloudflare:workers';
import { shorten } from '../time-limits.ts';

shorten(JSON.parse((env as { TEST_TIME_LIMITS?: string }).TEST_TIME_LIMITS ?? '{}'));
