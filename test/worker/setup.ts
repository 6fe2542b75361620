/**
 * Events of requests go to their conversation one by one, so that a test that has waited for a
 * request finds its event. `run-outboxes.test.ts` has them gathered.
 */
import { beforeEach } from 'vitest';
import { shorten } from '../support/time-limits.ts';

beforeEach(() => void shorten({ eventBatchMs: 0 }));
