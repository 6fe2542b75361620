/** Reports turns and moves of the frontier to the deployer (docs/operating.md#callbacks). */
import type { WebhookData, WebhookType } from '../webhooks.ts';
import type { CallFeature } from './listener.ts';

export const webhooks: CallFeature = ({ owner, request, scope }) => {
  const { caller, services, waitUntil } = scope;
  if (!caller.tenant || !services.webhooks.isOn) return undefined;
  const { user = null, conversation = null } = owner;
  const ids = { tenant: caller.tenant.id, user, conversation };
  const notify = (type: WebhookType, data: WebhookData) =>
    services.webhooks.notify(type, { ...ids, ...data }, waitUntil);
  return {
    readsAnswer: true,
    settled: ({ asked }) => {
      if (!asked?.answer.ok) return;
      const { mode, frontier, tokens } = asked.made.report;
      if (!frontier.moved) return;
      const counted = tokens ? { tokens_before: tokens.before, tokens_after: tokens.after } : {};
      notify('frontier.moved', { mode, unit: frontier.unit, ...counted });
    },
    completes: ({ text }) => {
      if (text === undefined) return;
      const { messages } = request;
      const turns = messages.filter(({ role }) => role === 'user').length;
      notify('turn.added', { turns, messages: messages.length });
    },
  };
};
