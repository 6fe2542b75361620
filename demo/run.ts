/** `precis demo`, and `npm run demo` in a clone. */
import { readOptions } from './options.ts';

// Ends for `--help`, before the client and the runtime are loaded.
readOptions(process.argv.slice(2));
await import('./recorded-run.ts');
