/** Reports to the deployer what happens to one conversation: by webhooks, and in metrics. */
import type { Env } from '../../config.ts';
import type { Log } from '../../log.ts';
import { dollarsOf } from '../../memory/money/amounts.ts';
import type { CacheMiss } from '../../memory/replay/change-schema.ts';
import { type WebhookData, type WebhookType, webhooksOf } from '../../webhooks.ts';
import { metricsOf } from '../metrics/metrics.ts';
import type { HealthState, SettledSummary } from './memories.ts';
import { idsIn, tenantIn } from './names.ts';

export class Deployer {
  private readonly ctx: DurableObjectState;
  private readonly env: Env;
  private readonly log: Log;

  constructor(ctx: DurableObjectState, env: Env, log: Log) {
    this.ctx = ctx;
    this.env = env;
    this.log = log;
  }

  settled(summary: SettledSummary): void {
    this.notify('summary.updated', { ...summary });
    const { status, generation_time_ms: ms } = summary;
    const metrics = metricsOf(this.env, this.log);
    metrics.count('precis_summaries_total', { status });
    if (status === 'completed') metrics.observe('precis_summary_seconds', {}, ms / 1000);
    metrics.sendLater((work) => this.ctx.waitUntil(work));
  }

  /** In the vendor's cache, in the order of the requests. */
  missed(misses: readonly CacheMiss[]): void {
    if (misses.length === 0) return;
    const metrics = metricsOf(this.env, this.log);
    for (const { cause, amount } of misses) {
      metrics.count('precis_cache_misses_total', { cause });
      if (amount !== null) metrics.count('precis_cache_miss_dollars_total', { cause }, dollarsOf(amount));
    }
    metrics.sendLater((work) => this.ctx.waitUntil(work));
  }

  healthChanged(before: HealthState, health: HealthState): void {
    this.notify('health.changed', { before, health });
  }

  private notify(type: WebhookType, data: WebhookData): void {
    const { name = '' } = this.ctx.id;
    const { user = null, conversation = null } = idsIn(name);
    const all = { tenant: tenantIn(name), user, conversation, ...data };
    webhooksOf(this.env, this.log).notify(type, all, (work) => this.ctx.waitUntil(work));
  }
}
