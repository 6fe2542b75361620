/**
 * Cross-session memory (docs/design.md#7-storage): the results of a user's other conversations, as
 * one block after the preamble. It is composed at a conversation's first request and then frozen,
 * so its bytes never change.
 */

import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Report, Warning } from '../memory/plan/report.ts';
import { type Injection, writeInjection } from '../memory/strategy/injection.ts';
import { measureOf } from '../memory/strategy/models.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { InjectedMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { storedConversation } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { StoredConversation } from '../summary/conversation.ts';

/** The most conversations in a block. 800 tokens have no room for more. */
const MOST_CONVERSATIONS = 5;

/** For three calls and possibly a check of the caller's key, in milliseconds. */
const READ_LIMIT_MS = 3_000;

interface Injected {
  readonly message?: InjectedMessage;
  readonly tokens?: number;
  readonly warnings: readonly Warning[];
  /** Warnings about the conversation's settings. */
  readonly ofSettings?: readonly Warning[];
}

const NOTHING: Injected = { warnings: [] };

/** The block for a request. It waits for the conversation's settings. */
export async function injectionFor(call: Call): Promise<Injected> {
  const { injection, warnings } = await call.chosen.injection;
  if (!injection || call.owner.off.length > 0) return { ...NOTHING, ofSettings: warnings };
  return { ...(await inject(injection, call)), ofSettings: warnings };
}

async function inject(injection: Injection, { request, owner, scope }: Call): Promise<Injected> {
  const { model, tooManyMessages, upstreamState } = request;
  if (tooManyMessages) return { warnings: ['too_many_messages'] };
  if (upstreamState !== undefined) return { warnings: ['upstream_state'] };
  const { caller, services, timings } = scope;
  const { tenant } = caller;
  const { user, conversation } = owner;
  if (!tenant) return { warnings: ['no_tenant'] };
  if (conversation === undefined) return { warnings: ['no_conversation'] };
  if (user === undefined) return { warnings: ['no_user'] };
  const stored = storedConversation(user, { id: conversation }, tenant, services);
  const { publishTo } = stored;
  if (!publishTo) return NOTHING;
  try {
    const { counter } = await scope.learned.counting(
      measureOf(model, undefined, services.config.tokenFactors),
    );
    const find = () => frozenBlock(stored, publishTo, injection.max_tokens, counter, scope);
    const block = await timings.measure('store', () => within(READ_LIMIT_MS, find()));
    if (block === '') return NOTHING;
    return {
      message: { role: injection.role, content: block },
      tokens: counter.text(block),
      warnings: [],
    };
  } catch (error) {
    logCaught(services.log, 'warn', "a user's memory could not be read", error);
    return { warnings: ['store_failed'] };
  }
}

/** The conversation's block. It is written and frozen now, if there is none yet. */
async function frozenBlock(
  { tenant, name, memory, remembered }: StoredConversation,
  { user, conversation }: NonNullable<StoredConversation['publishTo']>,
  maxTokens: number,
  counter: TokenCounter,
  { services, upkeep, mayStore }: RequestScope,
): Promise<string> {
  const { injection } = remembered;
  const read = async (): Promise<string | null> => {
    const at = Date.now();
    const frozen = await memory((stub) => stub.injection());
    if (frozen === null) injection.drop('');
    else injection.keep('', frozen, at);
    return frozen;
  };
  const known = injection.get('');
  if (known) {
    upkeep.of(name).rely('injection', known.at, async () => void (await read()));
    return known.value;
  }
  const frozen = await read();
  if (frozen !== null) return frozen;
  // Nothing can be frozen yet, and a block that is not frozen would come and go.
  if (!(await mayStore(tenant)))
    throw new ApiError('invalid_api_key', 'The key is not known to be accepted.');
  const latest = await services.user(user)((stub) =>
    stub.latest({ except: conversation, most: MOST_CONVERSATIONS }),
  );
  const texts = latest.map(({ text }) => text);
  const at = Date.now();
  const written = writeInjection(texts, maxTokens, counter);
  const block = await memory((stub) => stub.freezeInjection(written));
  injection.keep('', block, at);
  return block;
}

/** The report with the injected block. */
export function withInjection(report: Report, { tokens, warnings, ofSettings = [] }: Injected): Report {
  return {
    ...report,
    ...(tokens === undefined ? {} : { injection: { tokens } }),
    warnings: [...new Set([...ofSettings, ...report.warnings, ...warnings])],
  };
}
