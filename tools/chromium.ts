/** Finds a Chromium on this machine. The browser tests drive it, and npm does not install one. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first one has no window, and takes a fifth less of a processor. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

/** Where macOS has it, outside of the path. */
const OTHERS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of a Chromium: `CHROMIUM`, or one on the path; undefined if there is none. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const onPath = (env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [env.CHROMIUM, ...onPath, ...OTHERS].find((path) => path && existsSync(path));
}
