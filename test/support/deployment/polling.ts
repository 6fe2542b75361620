/** Waits in tests for something on the other side of a socket. */
import { setTimeout as sleep } from 'node:timers/promises';

const GIVE_UP_MS = 20_000;

/**
 * Resolves when `holds` returns true; rejects with `what` if it never does.
 *
 * @param giveUpMs time limit in milliseconds
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  giveUpMs = GIVE_UP_MS,
): Promise<void> {
  const deadline = Date.now() + giveUpMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(20);
  }
}
