/** The policies to compare. */

import type { ModelTerms } from '../../src/memory/models/terms.ts';
import { edits, parseStrategy, recalls } from '../../src/memory/modes/strategy.ts';
import type { Isolate } from '../pipeline.ts';
import { clearToolUses } from './peers/clear-tool-uses.ts';
import { keepLast } from './peers/keep-last.ts';
import { opencodePrune } from './peers/opencode.ts';
import { pruneMessages } from './peers/prune-messages.ts';
import { type Policy, rewriting } from './policy.ts';
import { precis } from './precis.ts';

/** A strategy of Precis, as a caller writes it. */
interface Setting {
  readonly name: string;
  readonly strategy: object;
  /** Whether the model can fetch refs. */
  readonly retrieval: boolean;
}

const SETTINGS: readonly Setting[] = [
  ...[32, 48, 64, 100].map((thousands) => ({
    name: `auto, ${thousands}k`,
    strategy: { mode: 'auto', token_budget: thousands * 1_000 },
    retrieval: true,
  })),
  {
    name: 'auto, 32k, whole at sight',
    strategy: { mode: 'auto', token_budget: 32_000, offload_fresh_tokens: 1_000_000 },
    retrieval: true,
  },
  {
    name: 'auto, 32k, 8k at sight',
    strategy: { mode: 'auto', token_budget: 32_000, offload_fresh_tokens: 8_000 },
    retrieval: true,
  },
  {
    name: 'auto, 32k, rehydrated',
    strategy: { mode: 'auto', token_budget: 32_000, rehydrate: true },
    retrieval: true,
  },
  {
    name: 'auto, 32k, digests',
    strategy: { mode: 'auto', token_budget: 32_000, offload_digest: 'model' },
    retrieval: true,
  },
  {
    name: 'auto, 32k, retrieval off',
    strategy: { mode: 'auto', token_budget: 32_000 },
    retrieval: false,
  },
  {
    name: 'compact, slide, 32k',
    strategy: { mode: 'compact', token_budget: 32_000, frontier: 'slide' },
    retrieval: true,
  },
];

export interface Policies {
  /** The baseline of all figures. */
  readonly none: Policy;
  readonly others: readonly Policy[];
  /** A sentence for each policy that can't be run. */
  readonly skipped: readonly string[];
}

/**
 * @param terms of the model that bills
 * @param strategies of the caller, as JSON; they are compared in place of the usual settings
 * @param more policies, which come last
 * @throws Error if a strategy is not valid
 */
export function policiesOf(
  isolate: Isolate,
  terms: ModelTerms,
  strategies: readonly string[] = [],
  more: readonly Policy[] = [],
): Policies {
  const asked = strategies.flatMap((json) => settingsIn(json));
  const read = (asked.length > 0 ? asked : SETTINGS).map((setting) => readSetting(setting, isolate, terms));
  const own = read.flatMap((policy) => (typeof policy === 'string' ? [] : [policy]));
  return {
    none: rewriting('none', 'none', (messages) => messages),
    others: [
      ...own,
      keepLast(5),
      keepLast(10),
      clearToolUses(100_000, 3),
      clearToolUses(32_000, 3),
      opencodePrune(),
      pruneMessages(),
      ...more,
    ],
    skipped: read.flatMap((policy) => (typeof policy === 'string' ? [policy] : [])),
  };
}

/** A strategy with and without retrieval, unless it says which. @throws Error if it is not JSON */
function settingsIn(json: string): Setting[] {
  const strategy: unknown = json.trim().startsWith('{') ? readJson(json) : { mode: json };
  const setting = { name: json, strategy: strategy as object, retrieval: true };
  if ('compact_retrieval' in setting.strategy)
    return [{ ...setting, retrieval: setting.strategy.compact_retrieval === 'tool' }];
  return [setting, { ...setting, name: `${json}, retrieval off`, retrieval: false }];
}

function readJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new Error(`--strategy ${json} is not JSON: ${(error as Error).message}.`);
  }
}

/** The policy, or why there is none. @throws Error if the strategy is not valid */
function readSetting(
  { name, strategy, retrieval }: Setting,
  isolate: Isolate,
  terms: ModelTerms,
): Policy | string {
  const parsed = parseStrategy(strategy);
  if (!parsed.ok) throw new Error(`--strategy ${name}: ${parsed.reason.message}`);
  const { value } = parsed;
  if (!edits(value) || recalls(value))
    return `'${name}' is left out: mode ${value.mode} is not found by replaying an array.`;
  return precis(name, value, retrieval, isolate, terms);
}
