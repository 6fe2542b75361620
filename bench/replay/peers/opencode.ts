import { textsOf } from '../../../src/memory/run/near-use.ts';
import type { ChatJson } from '../conversation.ts';
import { type Policy, rewriting } from '../policy.ts';
import { cleared } from './clear-outputs.ts';

/** Tokens of the newest outputs that stay, beside the outputs of protected turns. */
const PROTECTED_TOKENS = 40_000;
/** Nothing is pruned unless it is more than this. */
const LEAST_PRUNED = 20_000;
const PROTECTED_TURNS = 2;
/** Outputs are estimated, not counted. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * OpenCode's prune (`compaction.prune`, off by default). At the end of each user turn, outputs
 * before the last two turns are visited from newest to oldest; those beyond the first 40,000 tokens
 * are cleared for good, if they add up to more than 20,000
 * (https://github.com/sst/opencode/blob/dev/packages/opencode/src/session/compaction.ts,
 * https://deepwiki.com/anomalyco/opencode/4.3-context-management-and-compaction).
 */
export function opencodePrune(): Policy {
  const sizes = new WeakMap<ChatJson, number>();
  const sizeOf = (message: ChatJson): number => {
    const known = sizes.get(message);
    if (known !== undefined) return known;
    const size = Math.round(textsOf(message.content).length / CHARACTERS_PER_TOKEN);
    sizes.set(message, size);
    return size;
  };
  return rewriting('OpenCode prune', 'peer', (messages) => cleared(messages, prunedOf(messages, sizeOf)));
}

/** Everything pruned so far: each finished turn has had its prune. */
function prunedOf(messages: readonly ChatJson[], sizeOf: (message: ChatJson) => number): Set<number> {
  const pruned = new Set<number>();
  for (const [index, { role }] of messages.entries())
    if (role === 'user' && index > 0)
      for (const output of toPrune(messages.slice(0, index), pruned, sizeOf)) pruned.add(output);
  return pruned;
}

/** What to prune at the end of a turn. Stops at the first output that is already pruned. */
function toPrune(
  messages: readonly ChatJson[],
  pruned: ReadonlySet<number>,
  sizeOf: (message: ChatJson) => number,
): number[] {
  const indices: number[] = [];
  let turns = 0;
  let passed = 0;
  let freed = 0;
  for (let index = messages.length - 1; index >= 0 && !pruned.has(index); index--) {
    const message = messages[index];
    if (message?.role === 'user') turns++;
    if (message?.role !== 'tool' || turns < PROTECTED_TURNS) continue;
    passed += sizeOf(message);
    if (passed <= PROTECTED_TOKENS) continue;
    freed += sizeOf(message);
    indices.push(index);
  }
  return freed > LEAST_PRUNED ? indices : [];
}
