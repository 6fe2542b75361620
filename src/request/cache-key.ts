/**
 * A key of the conversation for the upstream's prompt cache (docs/money.md#keys-of-prompt-caches).
 * xAI caches nothing without one. It is an HMAC of tenant and conversation, so it says nothing to
 * the upstream, and no other tenant has the same.
 */
import { requestLength } from '../memory/conversation/first-requests.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { keyedCacheOf } from '../memory/models/cache-keys.ts';
import { passesThrough } from '../memory/modes/strategy.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { CACHE_KEY_CHARACTERS } from './callers/shared-account.ts';

/** Where a key is sent: the field `prompt_cache_key`, or a header. */
export interface ConversationKey {
  readonly key: string;
  /** Absent: the field. */
  readonly header?: string;
}

const FIELD = 'prompt_cache_key';

/** xAI's, for chat (https://docs.x.ai/developers/grok-4-6). */
const HEADER = 'x-grok-conv-id';

/**
 * Undefined where the upstream's cache takes none, where the caller has sent one of either form,
 * and for OpenAI where no conversation is named: its cache works without, and a key that begins in
 * the middle would lose what is cached by then.
 */
export function conversationKey(call: Call): ConversationKey | undefined {
  const { request, chosen, owner, scope } = call;
  const { config } = scope.services;
  const { tenant } = scope.caller;
  if (!config.promptCache || passesThrough(chosen.strategy) || owner.off.length > 0) return undefined;
  const cache = keyedCacheOf(request.model);
  if (!tenant || !cache) return undefined;
  // A shared account has keys of its tenants.
  if (cache === 'openai' && (config.access || owner.conversation === undefined)) return undefined;
  // The header of a shared account's caller is not sent.
  const hasHeader = !config.access && scope.incoming.headers.has(HEADER);
  if (request.field(FIELD) !== undefined || hasHeader) return undefined;
  const key = tenant.seal(`conversation_cache_key:${nameOf(call)}`).slice(0, CACHE_KEY_CHARACTERS);
  const isHeader = cache === 'xai' && request.protocol === 'chat';
  return isHeader ? { key, header: HEADER } : { key };
}

/**
 * The conversation as its caller names it, else by what was said before its first answer, which is
 * the same from the first request on. Two conversations that begin alike share what is cached.
 */
function nameOf({ request: { messages }, owner: { user, conversation } }: Call): string {
  if (conversation !== undefined) return JSON.stringify([user ?? null, conversation]);
  const asked = messages.slice(0, requestLength(messages, 'first'));
  return JSON.stringify([user ?? null, null, prefixHashes(asked, sha256Hex).at(-1)]);
}
