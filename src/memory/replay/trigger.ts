/** Why units are edited, in the terms of `x-memory-trigger`. */
export const TRIGGERS = [
  'turns',
  'steps',
  'messages',
  'token_budget',
  'token_soft_budget',
  'upstream_limit',
  'large_output',
  'cold_return',
  'force',
  'none',
] as const;

export type Trigger = (typeof TRIGGERS)[number];
