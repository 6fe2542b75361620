import { type Policy, rewriting } from '../policy.ts';
import { clearedBut } from './clear-outputs.ts';

/**
 * Clears all tool outputs but the last ones on every request. SWE-agent keeps 5
 * (`last_n_observations`, https://swe-agent.com/latest/reference/history_processor_config), "The
 * Complexity Trap" 10 (https://arxiv.org/abs/2508.21433).
 */
export function keepLast(outputs: number): Policy {
  return rewriting(`keep ${outputs} outputs`, 'peer', (messages) => clearedBut(messages, outputs));
}
