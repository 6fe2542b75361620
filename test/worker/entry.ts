/**
 * The Worker of these tests. Its objects read their variables themselves, so files that need others
 * set them here, and share the Worker with all other files.
 */
import type { Env } from '../../src/config.ts';
import { ConversationMemory as Conversation } from '../../src/index.ts';

export { default, Metrics, TenantMemory, UserMemory } from '../../src/index.ts';

let variables: Partial<Env> = {};

/**
 * Gives the conversations' objects that start from now on variables beside the Worker's.
 *
 * @returns what takes them away again, as `onTestFinished` takes it
 */
export function give(more: Partial<Env>): () => void {
  variables = more;
  return () => {
    variables = {};
  };
}

export class ConversationMemory extends Conversation {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, { ...env, ...variables });
  }
}
