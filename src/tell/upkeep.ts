/** What is stored, confirmed and told behind an answer of the upstream. */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Report } from '../memory/plan/report.ts';
import { passesThrough } from '../memory/strategy/strategy.ts';
import { changedBytes } from '../protocol/changed-bytes.ts';
import type { SharedArray } from '../protocol/known-array.ts';
import type { Call } from '../request/call.ts';
import { noteNamed } from '../request/named-refs.ts';
import { conversationName } from '../storage/conversation/key.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { MadeView } from '../view/made-view.ts';
import { noteSent } from './moved-since.ts';
import { newItems } from './new-items.ts';

/** Keeps the array of a request, so that the next one is read from where it differs. */
export function keepArray({ request, chosen, scope }: Call, shared: SharedArray | undefined): void {
  const { array } = request;
  if (array && scope.caller.tenant && !passesThrough(chosen.strategy))
    scope.learned.arrays.keep(array, shared);
}

/**
 * The view, with background work that a flush waits for, a callback for the closed turn, and a
 * count of the items that are new.
 */
export function tracked(made: MadeView, call: Call): MadeView {
  const { remember } = made;
  const told = remember ? { ...made, remember: (answer?: string) => track(remember(answer), call) } : made;
  const items = newItems(made, call);
  return tellingTurn(items ? { ...told, newItems: items } : told, call);
}

/** The view, whose answer tells the deployer of the turn that it closes. */
export function tellingTurn(made: MadeView, call: Call): MadeView {
  const { caller, services } = call.scope;
  const { tenant } = caller;
  if (!tenant || !services.webhooks.isOn) return made;
  return {
    ...made,
    remember: async (answer) => {
      if (answer !== undefined) tellTurn(tenant, call);
      await made.remember?.(answer);
    },
  };
}

function tellTurn({ id: tenant }: Tenant, { request: { messages }, owner, scope }: Call): void {
  const { user = null, conversation = null } = owner;
  const turns = messages.filter(({ role }) => role === 'user').length;
  const data = { tenant, user, conversation, turns, messages: messages.length };
  scope.services.webhooks.notify('turn.added', data, scope.waitUntil);
}

/** Only a named conversation can be flushed. */
function track<Value>(work: Promise<Value>, { owner, scope }: Call): Promise<Value> {
  const { tenant } = scope.caller;
  if (!tenant || owner.conversation === undefined) return work;
  const name = conversationName(tenant.id, owner.user, { id: owner.conversation });
  return scope.services.pending.track(name, work);
}

/** Leaves an answer that is already there the time to go out, in milliseconds. */
const ANSWER_MS = 10;

/**
 * Stores and confirms behind an answer of the upstream.
 *
 * @param sent the body that went up
 * @param keep keeps the array, with the facts that are known by then
 */
export function workBehind(made: MadeView, sent: Uint8Array | undefined, call: Call, keep: () => void): void {
  const { prepareNext } = made;
  const { caller, services, waitUntil, upkeep } = call.scope;
  if (sent) countChanges(made, sent, call);
  if (!caller.tenant) return;
  noteSent(call);
  tellDeployer(made.report, caller.tenant, call);
  if (prepareNext) {
    const prepare = () => {
      const work = prepareNext();
      keep();
      return work;
    };
    const failed = (error: unknown) =>
      logCaught(services.log, 'error', 'the next move could not be prepared', error);
    // Computing what the next move needs would delay the answer by milliseconds.
    waitUntil(track(pause(ANSWER_MS).then(prepare).catch(failed), call));
  } else keep();
  const noted = sent ? noteNamed(sent, call) : Promise.resolve();
  waitUntil(noted.then(() => upkeep.confirm()));
}

/** Tells the deployer of a frontier that has moved. */
function tellDeployer(
  { mode, frontier, tokens }: Report,
  { id: tenant }: Tenant,
  { owner, scope: { services, waitUntil } }: Call,
): void {
  const { webhooks } = services;
  if (!webhooks.isOn || !frontier.moved) return;
  const { user = null, conversation = null } = owner;
  const ids = { tenant, user, conversation };
  const counted = tokens ? { tokens_before: tokens.before, tokens_after: tokens.after } : {};
  webhooks.notify('frontier.moved', { ...ids, mode, unit: frontier.unit, ...counted }, waitUntil);
}

/** Counts what a body has lost or gained in mode none, or observed: it must be nothing. */
function countChanges({ report, tools }: MadeView, sent: Uint8Array, { request, scope }: Call): void {
  const { metrics } = scope.services;
  const { mode, injection, memory_blocks, potential } = report;
  if (!metrics.isOn || (mode !== 'none' && !potential) || injection || memory_blocks || tools) return;
  const count = () => metrics.count('precis_none_changed_bytes_total', {}, changedBytes(request, sent));
  scope.waitUntil(pause(ANSWER_MS).then(count));
}
