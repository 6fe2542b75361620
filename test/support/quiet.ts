import { vi } from 'vitest';

/** Has the console print nothing until mocks are restored: for tests that cause errors. */
export function quiet(): void {
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation(() => undefined);
}
