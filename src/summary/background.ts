/** The Durable Object's part: it writes in the background what it, or a request, has claimed. */
import { createTokenCounter, loadTokenize } from '../memory/tokens/tokens.ts';
import type { UserMemoryStub } from '../storage/conversation/key.ts';
import type { Claimed } from '../storage/conversation/memories.ts';
import type { SummaryChain } from '../storage/conversation/remote.ts';
import { publish, type RollMaterial } from './conversation.ts';
import { NO_TRANSCRIPT } from './kept-transcript.ts';
import { knownOf, writeSummary } from './writer.ts';

/**
 * Ends the claim with a summary, or with the code of what failed: then who asked has a digest made,
 * or leaves it verbatim.
 */
export async function writeInBackground(
  chain: SummaryChain,
  openUser: (name: string) => UserMemoryStub,
  { task, target, encoding, transcript, publishTo }: RollMaterial,
  { memoryId, lease, base }: Claimed,
): Promise<void> {
  const start = Date.now();
  const counter = createTokenCounter(await loadTokenize(encoding));
  const written = await writeSummary(task, knownOf(base), target, counter, {
    retrying: async (error) => chain.retrying(memoryId, lease, error),
    renew: async () => chain.renew(memoryId, lease),
    advance: async (chunk) => {
      const made = { ...chunk, ...NO_TRANSCRIPT, model: target.model, ms: Date.now() - start };
      return chain.advance(memoryId, lease, made) !== null;
    },
  });
  chain.spend(memoryId, written.ok ? written.value.usage : written.reason.usage);
  if (!written.ok) {
    chain.fail(memoryId, lease, { error: written.reason.error });
    return;
  }
  const { text, tokens } = written.value;
  const memory = chain.complete(memoryId, lease, {
    text,
    tokens,
    ...transcript,
    model: target.model,
    ms: Date.now() - start,
  });
  if (memory && publishTo) await publish(openUser, publishTo, text);
}
