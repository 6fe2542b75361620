/**
 * The Durable Object's part: it writes summaries in the background that it, or a request, has
 * claimed.
 */
import { storing } from '../lib/store-error.ts';
import type { Log } from '../log.ts';
import { createTokenCounter, loadTokenize } from '../memory/tokens/tokens.ts';
import type { Claimed } from '../storage/conversation/memories.ts';
import type { SummaryChain } from '../storage/conversation/remote.ts';
import type { ObjectCaller, UserMemoryStub } from '../storage/objects.ts';
import type { CallGuard } from '../upstream/call-guard.ts';
import { writeClaimed } from './claim.ts';
import { publish, type RollMaterial } from './conversation.ts';

/** What refusals have shown of summarizers' windows while an object lives, in tokens. */
export type KnownWindows = Map<string, number>;

/**
 * Ends the claim with a summary, or with the code of a failure. After a failure, a request that
 * needs the summary uses a digest, or leaves the messages verbatim.
 */
export async function writeInBackground(
  chain: SummaryChain,
  openUser: (name: string) => ObjectCaller<UserMemoryStub>,
  { publishTo, encoding, payer: _payer, target, ...material }: RollMaterial,
  guard: CallGuard,
  claim: Claimed,
  log: Log,
  windows: KnownWindows,
): Promise<void> {
  const server = `${target.baseUrl} ${target.model}`;
  const window = Math.min(target.window, windows.get(server) ?? target.window);
  await writeClaimed((call) => storing(() => call(chain)), claim, {
    ...material,
    target: { ...target, window, guard },
    log,
    narrowed: async (smaller, isKnown) => {
      if (isKnown) windows.set(server, smaller);
      return true;
    },
    counter: createTokenCounter(await loadTokenize(encoding)),
    spent: (usage) => chain.spend(claim.memoryId, usage),
    publish: (text) => publishTo && publish(openUser, publishTo, text),
  });
}
