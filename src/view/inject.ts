/**
 * Cross-session memory (docs/design.md#7-storage): the results of a user's other conversations, as
 * one block after the preamble. It is composed at a conversation's first request and then frozen,
 * so its bytes never change.
 */

import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Report, Warning } from '../memory/plan/report.ts';
import { writeInjection } from '../memory/strategy/injection.ts';
import type { InjectedMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { storedConversation } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';

/** The most conversations in a block. 800 tokens have no room for more. */
const MOST_CONVERSATIONS = 5;

/** For three calls and possibly a check of the caller's key, in milliseconds. */
const READ_LIMIT_MS = 3_000;

interface Injected {
  readonly message?: InjectedMessage;
  readonly tokens?: number;
  readonly warnings: readonly Warning[];
}

const NOTHING: Injected = { warnings: [] };

export async function injectionFor({ request, chosen, owner, scope }: Call): Promise<Injected> {
  const { model, tooManyMessages, upstreamState } = request;
  const { injection } = chosen;
  if (!injection || owner.off.length > 0) return NOTHING;
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
    const { counter } = await scope.learned.counting(model);
    const find = async (): Promise<string> => {
      const frozen = await stored.memory((stub) => stub.injection());
      if (frozen !== null) return frozen;
      // Nothing can be frozen yet, and a block that is not frozen would come and go.
      if (!(await scope.mayStore(tenant)))
        throw new ApiError('invalid_api_key', 'The key is not known to be accepted.');
      const latest = await services.user(publishTo.user)((stub) =>
        stub.latest({ except: publishTo.conversation, most: MOST_CONVERSATIONS }),
      );
      const texts = latest.map(({ text }) => text);
      const written = writeInjection(texts, injection.max_tokens, counter);
      return stored.memory((stub) => stub.freezeInjection(written));
    };
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

/** The report with the injected block. */
export function withInjection(report: Report, { tokens, warnings }: Injected): Report {
  return {
    ...report,
    ...(tokens === undefined ? {} : { injection: { tokens } }),
    warnings: [...new Set([...report.warnings, ...warnings])],
  };
}
