/**
 * A process that runs Workers for a process of tests, so that Miniflare is loaded once and out of
 * the tests' way. It ends when its parent does, even when that is killed.
 */
import type { HostOrder, HostReply } from './built-worker.ts';
import { runWorker } from './run-worker.ts';

const workers = new Map<number, { close(): Promise<void> }>();

const reply = (message: HostReply): void => {
  // Nobody listens after a disconnection.
  if (process.connected) process.send?.(message);
};

async function obey({ id, start }: HostOrder): Promise<HostReply> {
  if (start) {
    const worker = await runWorker(start.built, start.options, (printed) => reply({ id, printed }));
    workers.set(id, worker);
    return { id, url: worker.url };
  }
  await workers.get(id)?.close();
  workers.delete(id);
  return { id, closed: true };
}

process.once('disconnect', () => process.exit());
process.on('message', (order: HostOrder) => {
  obey(order).then(reply, (error: Error) => reply({ id: order.id, failed: String(error.stack ?? error) }));
});
