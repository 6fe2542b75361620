/**
 * Named strategies: the file that a deployer edits.
 *
 * A request chooses an agent by the base URL `https://HOST/agents/{key}/v1`, the header
 * `x-agent-type` or the body field `agent_type`. The request's own strategy, or its conversation's,
 * takes precedence over the agent's.
 */
import type { Isolation } from './config.ts';
import type { MemoryStrategyRequest } from './memory/modes/table.ts';
import type { MemoryInjectionRequest } from './memory/strategy/injection.ts';
import type { MemoryBlocksRequest } from './memory/strategy/memory-blocks.ts';

export interface AgentSpec {
  /** Letters, digits, `-` and `_`, since it is part of a URL. */
  readonly key: string;
  readonly memory_strategy: MemoryStrategyRequest;
  /** Whether a new conversation is given the summaries of the user's earlier ones. */
  readonly memory_injection?: MemoryInjectionRequest;
  /** The memory blocks that its requests show to the model. */
  readonly memory_blocks?: MemoryBlocksRequest;
  /**
   * `always`: each conversation that its requests name is archived, whatever the request's own
   * strategy says. Default: `asked`, which leaves it to `ARCHIVE` and never turns that off.
   */
  readonly archive?: 'always' | 'asked';
  /** Where this agent's requests name their user and conversation. Default: `ISOLATION`. */
  readonly isolation?: Isolation;
}

/**
 * Instructions for summaries by name, which a strategy chooses with `summary_prompt`. They are
 * added to the prompt of Precis; no heading can be left out.
 */
export const prompts: Readonly<Record<string, string>> = {
  handover: [
    'Write for a colleague who takes over in the middle and has seen nothing of this.',
    'Say what was promised and to whom, what was refused and why, and what someone still waits for.',
    'Keep every number, name and date that the colleague would otherwise have to ask for again.',
  ].join(' '),
};

export const agents: readonly AgentSpec[] = [
  {
    // One turn of hundreds of steps. Most of the context is file contents and test output, which
    // the agent can read again. Most of the bill is for requests over 64,000 tokens. A jump down to
    // half of that leaves room for tens of steps before the next one, so the cached prefix holds in
    // between. Ten steps stay, because the model mostly checks an edit against the last few. Only
    // where placeholders alone exceed the budget is the beginning summarized. The files that were
    // read last then follow the summary, so the agent need not read them again.
    key: 'coding',
    memory_strategy: {
      mode: 'auto',
      token_budget: 64_000,
      low_watermark_pct: 0.5,
      compact_keep_steps: 10,
      compact_min_tokens: 200,
      rehydrate: true,
    },
  },
  {
    // People wait for each answer, so memory is made in the background. The last ten rounds of a
    // chat stay verbatim. Memory covers the ten rounds before them (a window of 20 sequence
    // numbers); older ones are dropped, except for the user's standing instructions. 8,000 tokens
    // are enough for a page of memory and ten long rounds of typed text.
    key: 'chat',
    memory_strategy: {
      mode: 'rolling_summary',
      full_zone_turns: 10,
      rolling_window_size: 20,
      total_max_tokens: 8_000,
    },
  },
  {
    // A case can run for weeks and must not lose an order number, a promise or a refusal, so
    // everything is summarized instead of a window. At 16 turns the oldest 12 are summarized at
    // once, and then not again for 12 turns: one pause of a few seconds in twelve answers, and a
    // cached prefix in between. The focus names what the next clerk will look for. Earlier cases of
    // the same customer get 400 tokens, about a paragraph each. Most cases are over after a few
    // turns, so each answered turn is published. What was said to a customer may be asked for long
    // after the case, so every named one is archived.
    key: 'support',
    memory_strategy: {
      mode: 'summarize',
      context_limit: 16,
      keep_last_n_turns: 4,
      summary_prompt: 'handover',
      summary_focus:
        'Order and ticket numbers, amounts, dates, addresses; what was promised to the customer, what was refused and why.',
    },
    memory_injection: { max_tokens: 400, publish: 'each_round' },
    archive: 'always',
  },
];
