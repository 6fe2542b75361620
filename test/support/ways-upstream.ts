/**
 * Every way from Precis to an upstream, by the file that takes it. A new one is added here, with
 * what guards it; `ways-upstream.test.ts` finds those that are missing, and `every-way.test.ts`
 * walks them.
 */

/**
 * - `limits`: passes the caller's limits by `askUpstream`, or by a toll with its guard.
 * - `free`: no model answers, so that nothing is billed.
 * - `deployer`: the deployer's own servers of vectors, which tell no price.
 */
export type Before = 'limits' | 'free' | 'deployer';

/** Callers of `askUpstream`, which reserves what has a body. */
export const ASK_UPSTREAM: Readonly<Record<string, Before>> = {
  'answer/attempt.ts': 'limits',
  'answer/bridge/bridged-call.ts': 'limits',
  'answer/count-input.ts': 'limits',
  'answer/observed.ts': 'limits',
  'answer/unread/pass-unread.ts': 'limits',
  'routes/passthrough.ts': 'limits',
  'routes/models.ts': 'limits',
};

/** Callers of `askModel`, which asks for a toll. */
export const ASK_MODEL: Readonly<Record<string, Before>> = {
  'summary/summarizer.ts': 'limits',
  'summary/own-compaction.ts': 'limits',
  'upstream/embeddings.ts': 'deployer',
  'upstream/shutdown-dates.ts': 'free',
  'routes/admin/health.ts': 'free',
};

/** Callers of `fetchUpstream`. */
export const FETCH_UPSTREAM: Readonly<Record<string, Before>> = {
  'answer/ask-upstream.ts': 'limits',
  'upstream/key-verdict.ts': 'free',
};

/** Files that call `fetch` itself. The last two have receivers that are no models. */
export const FETCH: Readonly<Record<string, Before>> = {
  'upstream/fetch.ts': 'limits',
  'upstream/model-client.ts': 'limits',
  'telemetry/exporter.ts': 'free',
  'webhooks.ts': 'free',
};
