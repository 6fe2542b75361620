/**
 * Callbacks to the deployer (docs/operating.md#callbacks), signed as Standard Webhooks
 * (https://www.standardwebhooks.com): ids and numbers, never content or keys. Best effort: nothing
 * waits for them, and after three tries one is lost.
 */

import type { Env } from './config.ts';
import { oncePer } from './lib/once.ts';
import { pause } from './lib/time-limit.ts';
import { errorName, type Log } from './log.ts';
import { TIME_LIMITS } from './time-limits.ts';

export type WebhookType =
  | 'summary.updated'
  | 'health.changed'
  | 'turn.added'
  | 'frontier.moved'
  | 'limit.learned'
  | 'week.ended';

/** Ids that callers have chosen, codes and numbers. */
export type WebhookData = Readonly<Record<string, string | number | null>>;

interface WebhookPorts {
  readonly url: string;
  /** Base64, with or without `whsec_`. */
  readonly secret: string;
  readonly log: Log;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

export class Webhooks {
  private readonly ports: Required<WebhookPorts> | undefined;

  /** @param ports absent: nothing is sent */
  constructor(ports?: WebhookPorts) {
    this.ports = ports && { wait: pause, ...ports };
  }

  get isOn(): boolean {
    return this.ports !== undefined;
  }

  /** Sends an event in the background. */
  notify(type: WebhookType, data: WebhookData, waitUntil: (work: Promise<unknown>) => void): void {
    if (this.ports) waitUntil(this.send(type, data, this.ports));
  }

  /** Never throws. */
  private async send(type: WebhookType, data: WebhookData, ports: Required<WebhookPorts>): Promise<void> {
    const id = `msg_${crypto.randomUUID()}`;
    const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data });
    let fault = '';
    for (const before of [0, TIME_LIMITS.webhookPauseMs, TIME_LIMITS.longerWebhookPauseMs]) {
      if (before > 0) await ports.wait(before);
      fault = await this.attempt(id, body, ports).catch(errorName);
      if (fault === '') return;
    }
    ports.log('warn', 'a callback could not be delivered', { type, error: fault });
  }

  /** Empty if the receiver has taken the event, else why not. @throws if it can't be reached */
  private async attempt(id: string, body: string, { url, secret }: WebhookPorts): Promise<string> {
    const { Webhook } = await import('standardwebhooks');
    const at = new Date();
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(secret).sign(id, at, body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIME_LIMITS.webhookTryMs),
    });
    await response.body?.cancel();
    return response.ok ? '' : `status ${response.status}`;
  }
}

/** The callbacks of a deployment. Nothing is sent without `WEBHOOK_URL`. */
export const webhooksOf = oncePer((env: Env, log: Log): Webhooks => {
  const { WEBHOOK_URL: url, WEBHOOK_SECRET: secret } = env;
  return new Webhooks(url === undefined || secret === undefined ? undefined : { url, secret, log });
});
