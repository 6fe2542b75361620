/** Waiting in tests for what happens on another side of a socket. */
import { setTimeout as sleep } from 'node:timers/promises';

const GIVE_UP_MS = 20_000;

/**
 * Resolves when `holds` does; rejects, with what was waited for, when it never does.
 *
 * @param giveUpMs milliseconds until then
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
