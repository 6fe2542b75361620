/** What `precis run` and the Precis that it starts know of each other. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder for this user alone, and those above it. Node's own `recursive` does not end where
 * the system knows no such folder although the one above it is there (`/proc`).
 *
 * @throws with the code of the system
 */
export function makeFolder(path) {
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if (error.code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (error.code !== 'ENOENT' || existsSync(dirname(path))) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, 0o700);
  }
}

/** Whether a process of this user lives. */
export function isAlive(id) {
  try {
    // Signal 0 is not sent. A process of another user is none of these.
    return process.kill(id, 0);
  } catch {
    return false;
  }
}

/**
 * Where a Precis forwards, for comparing: the addresses themselves may hold keys.
 *
 * @param openai `UPSTREAM_BASE_URL`
 * @param anthropic `ANTHROPIC_BASE_URL`
 */
export function digestOfAddresses(openai = '', anthropic = '') {
  return createHash('sha256')
    .update(JSON.stringify([openai, anthropic]))
    .digest('hex');
}

/** Whether an address names the Precis on a port of this machine: requests would go round. */
export function isOwnAddress(url, port) {
  return new RegExp(`^http://(?:127\\.0\\.0\\.1|localhost|\\[::1\\]):${port}(?:/|$)`, 'i').test(url);
}
