/** The prefix that the next move will summarize, and a way to wait for its summary. */
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import type { Sent } from '../clients/agent-caller.ts';
import { viewOf } from '../laws/view-of.ts';
import { type Deployment, KEY } from './deployment.ts';
import { SECRET } from './file-worker.ts';
import { until } from './polling.ts';

let ofSecret: { readonly secret: string; readonly tenants: Tenants } | undefined;

/** The tenants of the file. They know the refs that they have named: half of the time of a plan. */
function tenants(): Tenants {
  if (ofSecret?.secret !== SECRET) ofSecret = { secret: SECRET, tenants: new Tenants(SECRET) };
  return ofSecret.tenants;
}

/**
 * Waits until the summary that a request has had prepared is ready; resolves at once without one.
 * The strategy must set `min_reclaim_tokens`, since prices are not known here.
 */
export async function prepared(
  deployment: Deployment,
  { seen, messages }: Sent,
  conversation: string,
  strategy: MemoryStrategyRequest,
): Promise<void> {
  // Refs are part of a plan.
  const tenant = tenants().ofToken(deployment.protocol.key(KEY));
  const { plan } = viewOf({ ...seen.body, messages }, strategy, { tenant });
  const next = plan.ahead?.().next;
  if (!next) return;
  await until(`the messages before ${next.end} are summarised`, async () => {
    const response = await deployment.fetch(`/v1/conversations/${encodeURIComponent(conversation)}/memory`);
    const { memories = [] } = (await response.json()) as {
      memories?: { status: string; covers_end: number }[];
    };
    return memories.some(({ status, covers_end }) => status === 'completed' && covers_end === next.end);
  });
}
