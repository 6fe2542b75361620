/**
 * Cross-session memory (docs/design.md#7-storage): the results of a user's other conversations, as
 * one block after the preamble. It is composed at a conversation's first request and then frozen.
 * If one of its sources is deleted, it is made anew when the frontier moves.
 */

import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { measureOf } from '../memory/models/facts.ts';
import type { Report, Warning } from '../memory/plan/report.ts';
import { type Injection, writeInjection } from '../memory/strategy/injection.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { InjectedMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { storedConversation } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { FrozenBlock } from '../storage/conversation/memories.ts';
import { lookUp, recall } from '../storage/recall.ts';
import type { StoredConversation, UserEntry } from '../summary/conversation.ts';
import { TIME_LIMITS } from '../time-limits.ts';

/** The most conversations in a block. 800 tokens have no room for more. */
export const MOST_CONVERSATIONS = 5;

/** The block of a request, and what to say about it. */
export interface Injected {
  readonly message?: InjectedMessage;
  readonly tokens?: number;
  readonly warnings: readonly Warning[];
  /** Warnings about the conversation's settings. */
  readonly ofSettings?: readonly Warning[];
  /** Makes the block anew if one of its sources is deleted. Absent without a block. */
  renewed?(): Promise<Injected>;
}

const NOTHING: Injected = { warnings: [] };

/** The block for a request. It waits for the conversation's settings. */
export async function injectionFor(call: Call): Promise<Injected> {
  const { injection, warnings } = await call.chosen.injection;
  if (!injection || call.owner.off.length > 0) return { ...NOTHING, ofSettings: warnings };
  return { ...(await inject(injection, call)), ofSettings: warnings };
}

/**
 * The block for the view of a request. It may change when the frontier moves, since the cached
 * prefix ends before it then.
 */
export async function injectedWith({ frontier }: Report, injected: Injected): Promise<Injected> {
  const { renewed, ofSettings = [] } = injected;
  return frontier.moved && renewed ? { ...(await renewed()), ofSettings } : injected;
}

async function inject(injection: Injection, { request, owner, scope }: Call): Promise<Injected> {
  const { model, tooManyMessages, upstreamState } = request;
  if (tooManyMessages) return { warnings: ['too_many_messages'] };
  if (upstreamState !== undefined) return { warnings: ['upstream_state'] };
  const { caller, services } = scope;
  const { tenant } = caller;
  const { user, conversation } = owner;
  if (!tenant) return { warnings: ['no_tenant'] };
  if (conversation === undefined) return { warnings: ['no_conversation'] };
  if (user === undefined) return { warnings: ['no_user'] };
  const stored = storedConversation(user, { id: conversation }, tenant, services);
  const { publishTo } = stored;
  if (!publishTo) return NOTHING;
  try {
    const { counter } = await scope.caches.counting(
      measureOf(model, undefined, services.config.tokenFactors),
    );
    return await injectedOf({ stored, entry: publishTo, injection, counter, scope });
  } catch (error) {
    return unread(error, scope);
  }
}

function unread(error: unknown, { services }: RequestScope): Injected {
  logCaught(services.log, 'warn', "a user's memory could not be read", error);
  return { warnings: ['store_failed'] };
}

/** What the block of a conversation is made of. */
interface BlockFacts {
  readonly stored: StoredConversation;
  readonly entry: UserEntry;
  readonly injection: Injection;
  readonly counter: TokenCounter;
  readonly scope: RequestScope;
}

/** @throws if storage fails or is late */
async function injectedOf(of: BlockFacts): Promise<Injected> {
  const block = await timed(of, () => frozenOf(of));
  if (block.text === '') return NOTHING;
  return { ...shown(of, block), renewed: () => renewed(of, block) };
}

/** @throws if storage fails or is late */
function timed<Value>({ scope }: BlockFacts, work: () => Promise<Value>): Promise<Value> {
  return scope.timings.measure('store', () => within(TIME_LIMITS.memoryReadMs, work()));
}

function shown({ injection, counter }: BlockFacts, { text }: FrozenBlock): Injected {
  if (text === '') return NOTHING;
  return { message: { role: injection.role, content: text }, tokens: counter.text(text), warnings: [] };
}

/** Without an answer of storage, the block stays. */
async function renewed(of: BlockFacts, block: FrozenBlock): Promise<Injected> {
  const { sources } = block;
  const user = of.scope.services.user(of.entry.user);
  try {
    return await timed(of, async () => {
      const isWhole = await user((stub) => stub.holds(sources));
      return shown(of, isWhole ? block : await compose(of, block.text));
    });
  } catch (error) {
    return { ...shown(of, block), warnings: unread(error, of.scope).warnings };
  }
}

/** The frozen block. It is written and frozen now if there is none yet, or to be made anew. */
async function frozenOf(of: BlockFacts): Promise<FrozenBlock> {
  const { name, memory, remembered } = of.stored;
  const { refresh } = of.injection;
  const question = {
    known: remembered.of('injections'),
    keys: [''],
    upkeep: of.scope.upkeep.of(name),
    ask: async () => [(await memory((stub) => stub.state.injection())) ?? undefined],
  };
  const [frozen] = await (refresh ? lookUp(question) : recall(question));
  return frozen === undefined || refresh ? compose(of, frozen?.text ?? null) : frozen;
}

/** @param replaced the text of the block so far; null if there is none */
async function compose(
  { stored, scope, entry, injection, counter }: BlockFacts,
  replaced: string | null,
): Promise<FrozenBlock> {
  const { tenant, memory, remembered } = stored;
  const { user, conversation } = entry;
  // Nothing can be frozen yet, and a block that is not frozen would come and go.
  if (!(await scope.mayStore(tenant)))
    throw new ApiError('invalid_api_key', 'It is not known whether the key is accepted.');
  const latest = await scope.services.user(user)((stub) =>
    stub.latest({ except: conversation, most: MOST_CONVERSATIONS }),
  );
  const at = Date.now();
  const texts = latest.map(({ text }) => text);
  const written = {
    text: writeInjection(texts, injection.max_tokens, counter),
    sources: latest.map((entry) => ({ conversation: entry.conversation, since: entry.since })),
  };
  const block = await memory((stub) => stub.state.freezeInjection(written, replaced));
  remembered.of('injections').keep('', block, at);
  return block;
}

export function withInjection(
  report: Report,
  { message, tokens, warnings, ofSettings = [] }: Injected,
): Report {
  const injection = message && tokens !== undefined ? { injection: { tokens, text: message.content } } : {};
  return {
    ...report,
    ...injection,
    warnings: [...new Set([...ofSettings, ...report.warnings, ...warnings])],
  };
}
