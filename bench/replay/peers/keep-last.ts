import { type Policy, rewriting } from '../policy.ts';
import { clearedBut } from './clear-outputs.ts';

/**
 * At every request, all tool outputs but the last ones are cleared. SWE-agent has it with 5
 * (`last_n_observations`, https://swe-agent.com/latest/reference/history_processor_config), "The
 * Complexity Trap" with 10 (https://arxiv.org/abs/2508.21433).
 */
export function keepLast(outputs: number): Policy {
  return rewriting(`keep ${outputs} outputs`, 'peer', (messages) => clearedBut(messages, outputs));
}
