/**
 * Named strategies: the file that a deployer edits.
 *
 * An agent's key is chosen by `https://HOST/agents/{key}/v1` as base URL, by the header
 * `x-agent-type`, or by the body field `agent_type`. A strategy of the request itself, or of its
 * conversation, wins over the agent's.
 */
import type { Isolation } from './config.ts';
import type { MemoryInjectionRequest } from './memory/strategy/injection.ts';
import type { MemoryStrategyRequest } from './memory/strategy/strategy.ts';

export interface AgentSpec {
  /** Letters, digits, `-` and `_`: it stands in a URL. */
  readonly key: string;
  readonly memory_strategy: MemoryStrategyRequest;
  /** Whether what earlier conversations of a user came to is told in the next one. */
  readonly memory_injection?: MemoryInjectionRequest;
  /**
   * Where this agent's requests name user and conversation; else the deployment's `ISOLATION`
   * holds.
   */
  readonly isolation?: Isolation;
}

export const agents: readonly AgentSpec[] = [
  {
    // One turn, hundreds of steps, and most of the context is file contents and test output that
    // the agent can read again. 64 000 tokens are where such runs spend most of their bill;
    // stopping a jump at half of that leaves tens of steps until the next one, so the cached prefix
    // holds in between. Ten steps stay: an edit is mostly checked against the last few.
    key: 'coding',
    memory_strategy: {
      mode: 'compact',
      token_budget: 64_000,
      low_watermark_pct: 0.5,
      compact_keep_steps: 10,
      compact_clear_tool_inputs: true,
      compact_min_tokens: 200,
      compact_preview_tokens: 48,
    },
  },
  {
    // People wait for each answer, so nothing may be made in front of one: rolling memory is made
    // behind it. A chat's thread is in its last ten rounds, which stay as they were said; the ten
    // rounds before them (a window of 20 numbers) are remembered, and what is older is let go,
    // except for what the user asked to be kept to. 8 000 tokens in all are a page of memory and
    // the longest ten rounds that people type.
    key: 'chat',
    memory_strategy: {
      mode: 'rolling_summary',
      full_zone_turns: 10,
      rolling_window_size: 20,
      total_max_tokens: 8_000,
    },
  },
  {
    // A case must not lose an order number, a promise or a refusal, and it may go on for weeks: so
    // it is a summary of everything, not a window. At 16 turns the oldest 12 are condensed at once,
    // and not again for 12 turns: one pause of a few seconds in twelve answers, and a prefix that
    // stays cached in between. The focus names what the next clerk will look for. What earlier
    // cases of the same customer came to is told in 400 tokens, about a paragraph a case.
    key: 'support',
    memory_strategy: {
      mode: 'summarize',
      context_limit: 16,
      keep_last_n_turns: 4,
      summary_focus:
        'Order and ticket numbers, amounts, dates, addresses; what was promised to the customer, what was refused and why.',
    },
    memory_injection: { max_tokens: 400 },
  },
];
