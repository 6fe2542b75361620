/**
 * Named strategies: the file that a deployer edits.
 *
 * An agent's key is chosen by `https://HOST/agents/{key}/v1` as base URL, by the header `x-agent-type`, or by the body field
 * `agent_type`. A strategy of the request itself wins over the agent's.
 */
import type { MemoryStrategyRequest } from './memory/strategy.ts';

export interface AgentSpec {
  /** Letters, digits, `-` and `_`: it stands in a URL. */
  readonly key: string;
  readonly memory_strategy: MemoryStrategyRequest;
}

export const agents: readonly AgentSpec[] = [
  {
    // One turn, hundreds of steps, and most of the context is file contents and test output that the agent can read again.
    // 64 000 tokens are where such runs spend most of their bill; stopping a jump at half of that leaves tens of steps until
    // the next one, so the cached prefix holds in between. Ten steps stay: an edit is mostly checked against the last few.
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
    // Short turns without tools, where the last few carry the thread. From 40 on the oldest go, 30 at once rather than one
    // with each request, so that the prefix stays cached for the next 30 turns.
    key: 'chat',
    memory_strategy: { mode: 'trim', max_turns: 40, keep_last_n_turns: 10 },
  },
];
