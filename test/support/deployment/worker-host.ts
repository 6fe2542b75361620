/**
 * A process with a Worker that several test files share. It ends when its parent does, even when
 * that is killed.
 */
import type { HostedWorker, HostMessage } from './built-worker.ts';
import { runWorker } from './run-worker.ts';

const tell = (message: HostMessage): void => {
  process.send?.(message);
};

process.once('disconnect', () => process.exit());
process.once('message', async ({ built, options }: HostedWorker) => {
  const { url } = await runWorker(built, options, (printed) => tell({ printed }));
  tell({ url });
});
