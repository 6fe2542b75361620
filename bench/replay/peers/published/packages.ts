/** The published code of other tools, installed when it is asked for and never a dependency. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BENCH_CACHE, install } from '../../../install.ts';
import type { Policy } from '../../policy.ts';
import { type AiSdk, publishedPruneMessages } from './ai-sdk.ts';
import { type LangChain, publishedContextEditing } from './langchain.ts';

/** Exact versions; `@langchain/core` and `zod` are what the other two ask for. */
export const PEER_PACKAGES = {
  ai: '7.0.173',
  langchain: '1.5.14',
  '@langchain/core': '1.4.0',
  zod: '4.1.13',
} as const;

/** Imports them from their own folder. */
const ENTRY = `export { pruneMessages } from 'ai';
export { AIMessage, ClearToolUsesEdit, contextEditingMiddleware, HumanMessage, SystemMessage, ToolMessage } from 'langchain';
`;

/**
 * The policies of the published packages.
 *
 * @throws Error if they can't be installed
 */
export async function publishedPeers(): Promise<Policy[]> {
  const folder = join(BENCH_CACHE, `peers-${PEER_PACKAGES.ai}-${PEER_PACKAGES.langchain}`);
  const entry = join(folder, 'entry.mjs');
  if (!existsSync(entry)) {
    await install(folder, { dependencies: PEER_PACKAGES });
    // Written last, so that an installation that was broken off is made again.
    await writeFile(entry, ENTRY);
  }
  const code: AiSdk & LangChain = await import(pathToFileURL(entry).href);
  return [
    publishedPruneMessages(`ai@${PEER_PACKAGES.ai} pruneMessages`, code),
    ...[100_000, 32_000].map((trigger) =>
      publishedContextEditing(
        `langchain@${PEER_PACKAGES.langchain} clear, ${trigger / 1_000}k`,
        code,
        trigger,
        3,
      ),
    ),
  ];
}
