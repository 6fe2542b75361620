/** Reports turns and moves of the frontier to the deployer (docs/operating.md#callbacks). */
import type { Call } from '../request/call.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { WebhookData, WebhookType } from '../webhooks.ts';
import type { CallFeature, CallListener, CompleteAnswer, SettledCall } from './listener.ts';

export const webhooks: CallFeature = (call) => {
  const { caller, services } = call.scope;
  const { tenant } = caller;
  return tenant && services.webhooks.isOn ? new Webhooks(call, tenant) : undefined;
};

class Webhooks implements CallListener {
  readonly readsAnswer = true;
  private readonly call: Call;
  private readonly tenant: Tenant;

  constructor(call: Call, tenant: Tenant) {
    this.call = call;
    this.tenant = tenant;
  }

  settled({ asked }: SettledCall): void {
    if (!asked?.answer.ok) return;
    const { mode, frontier, tokens } = asked.made.report;
    if (!frontier.moved) return;
    const counted = tokens ? { tokens_before: tokens.before, tokens_after: tokens.after } : {};
    this.notify('frontier.moved', { mode, unit: frontier.unit, ...counted });
  }

  completes({ text }: CompleteAnswer): void {
    if (text === undefined) return;
    const { messages } = this.call.request;
    const turns = messages.filter(({ role }) => role === 'user').length;
    this.notify('turn.added', { turns, messages: messages.length });
  }

  private notify(type: WebhookType, data: WebhookData): void {
    const { owner, scope } = this.call;
    const { user = null, conversation = null } = owner;
    const ids = { tenant: this.tenant.id, user, conversation };
    scope.services.webhooks.notify(type, { ...ids, ...data }, scope.waitUntil);
  }
}
