import { beforeEach, vi } from 'vitest';

/** Has the console print nothing until mocks are restored: for tests that cause errors. */
export function quiet(): void {
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation(() => undefined);
}

/** The lines that the current test logs, as objects. Its mocks are restored at its end. */
export function loggedLines(): { level: string; message: string; code?: string; error?: string }[] {
  const lines: ReturnType<typeof loggedLines> = [];
  beforeEach(() => {
    lines.length = 0;
    for (const level of ['debug', 'info', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(JSON.parse(line)));
  });
  return lines;
}
