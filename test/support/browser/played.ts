/** Conversations that a browser test looks at, made through the Worker. */
import { sampleTraces, type Trace } from '../conversations/traces.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { until } from '../deployment/polling.ts';
import { runs } from '../laws/runs.ts';

/** Recorded conversations: by day the first of the sample, since each is a page or more. */
export const fewTraces = (): readonly Trace[] => sampleTraces().slice(0, runs(1, 1_000));

/** Strategies under which the example of *Try it* is edited. */
export const COMPACT = { mode: 'compact', token_budget: 8_000, low_watermark_pct: 0.6, archive: true };
export const SUMMARIZE = {
  mode: 'summarize',
  token_budget: 9_000,
  low_watermark_pct: 0.5,
  summary_max_tokens: 500,
  archive: true,
};

/** A conversation as its requests name it. */
export interface PlayedConversation {
  readonly id: string;
  readonly user?: string;
  readonly strategy: object;
  readonly messages: readonly object[];
  readonly tools?: readonly unknown[];
  /** Whether its requests are only observed. */
  readonly observed?: boolean;
  /** Asks at one in this many request points. Default: at each. */
  readonly every?: number;
}

/**
 * Sends each request of a conversation: every prefix that ends before an answer of the assistant,
 * and the whole. Resolves when all of them are recorded.
 *
 * @returns how many there were
 */
export async function play(
  deployment: Deployment,
  { id, user, strategy, messages, tools, observed = false, every = 1 }: PlayedConversation,
  key?: string,
): Promise<number> {
  const points = messages.flatMap((message, index) => {
    const { role } = message as { role?: string };
    return role === 'assistant' && index > 1 ? [index] : [];
  });
  const asked = [...points.filter((_, at) => at % every === 0), messages.length];
  for (const end of asked) {
    const body = {
      model: 'gpt-4.1',
      conversation_id: id,
      ...(user === undefined ? {} : { user }),
      ...(tools ? { tools } : {}),
      memory_strategy: strategy,
      messages: messages.slice(0, end),
    };
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(observed ? { 'x-memory-observe': 'true' } : {}),
    };
    const response = await deployment.chat(body, headers);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  }
  await recorded(deployment, { id, ...(user === undefined ? {} : { user }) }, asked.length, key);
  return asked.length;
}

/** Waits until this many requests of a conversation are recorded, which happens after answers. */
export async function recorded(
  deployment: Deployment,
  { id, user }: Pick<PlayedConversation, 'id' | 'user'>,
  count: number,
  key?: string,
): Promise<void> {
  const query = user === undefined ? '' : `&user=${encodeURIComponent(user)}`;
  const path = `/v1/conversations/${encodeURIComponent(id)}/requests?limit=1${query}`;
  const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  await until(`${count} requests are recorded`, async () => {
    const { data = [] } = (await (await deployment.fetch(path, init)).json()) as { data?: { n: number }[] };
    return (data[0]?.n ?? 0) >= count;
  });
}
