/**
 * Restores what a test has mocked, and the limits that it has shortened, after its own `afterEach`
 * (a setup file of vitest). Files share the modules of a process.
 */
import { afterEach, vi } from 'vitest';
import { restoreLimits } from './time-limits.ts';

afterEach(() => {
  vi.restoreAllMocks();
  restoreLimits();
});
