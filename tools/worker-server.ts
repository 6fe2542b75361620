/** Where the repository is, and the program that builds its Worker. */
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
export const WRANGLER = join(ROOT, 'node_modules/wrangler/bin/wrangler.js');
