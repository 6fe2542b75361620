/** Restores what a test has mocked, after its own `afterEach` (a setup file of vitest). */
import { afterEach, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});
