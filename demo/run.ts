/** `precis demo`, and `npm run demo` in a clone. */
import { readOptions, refusedRun } from './options.ts';

// Ends for `--help`, before the client and the runtime are loaded.
readOptions(process.argv.slice(2));
await import('./recorded-run.ts').catch((error: unknown) => {
  const said = refusedRun(error);
  if (said === undefined) throw error;
  console.error(said);
  process.exit(1);
});
