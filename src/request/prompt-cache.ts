/**
 * The upstream's prompt cache: its key of a conversation, how long it keeps what a request has
 * sent, who marks what it keeps (docs/design.md#marks), and whether the vendor is asked why it
 * missed.
 */
import { bufferOf } from '../lib/bytes.ts';
import { asObject } from '../lib/json.ts';
import { requestLength } from '../memory/conversation/first-requests.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { keyedCacheOf, statedLifetimeOf } from '../memory/models/prompt-caches.ts';
import type { HitRule } from '../memory/models/schedule.ts';
import type { Marking } from '../memory/models/terms.ts';
import { edits, passesThrough } from '../memory/modes/strategy.ts';
import type { CacheMarksChoice } from '../memory/strategy/fields.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import { HOUR } from './callers/billing.ts';
import { CACHE_KEY_CHARACTERS } from './callers/shared-account.ts';
import { isRefused } from './model-refusals.ts';

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
 * A key of the conversation (docs/money.md#keys-of-prompt-caches). xAI caches nothing without one.
 * It is an HMAC of tenant and conversation, so it says nothing to the upstream, and no other tenant
 * has the same.
 *
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

type TimedRequest = Pick<ModelRequest, 'model' | 'bytes' | 'marks' | 'field'>;

/** The longest that a request is kept, in milliseconds; undefined where the vendor does not say. */
export function cacheLifetimeOf(request: TimedRequest): number | undefined {
  // Another text that reads like it makes the time longer, which is the safe side.
  const hasHours = request.marks > 0 && bufferOf(request.bytes).includes(`"${HOUR}"`);
  return statedLifetimeOf(request.model, hasHours ? [...namedIn(request), HOUR] : namedIn(request));
}

/**
 * The same by the fields of the request alone. How long marks of Anthropic's API ask for, its
 * answers say.
 */
export function askedLifetimeOf(request: Pick<TimedRequest, 'model' | 'field'>): number | undefined {
  return statedLifetimeOf(request.model, namedIn(request));
}

function namedIn(request: Pick<TimedRequest, 'field'>): string[] {
  const { ttl } = asObject(request.field('prompt_cache_options'));
  return [ttl, request.field('prompt_cache_retention')].filter((name) => typeof name === 'string');
}

/** Who marks a request, as its terms depend on it. */
export function markingOf(request: ModelRequest, choice: CacheMarksChoice): Marking {
  const isOurs = choice === 'auto';
  return {
    atBoundaries: isOurs && !marksAll(request),
    atMarks: isOurs && request.cacheMarks.areCallers,
    marksMessages: () => marksMessages(request),
  };
}

/** Whether a caller of OpenAI's cache places all marks itself. */
function marksAll(request: Pick<ModelRequest, 'field'>): boolean {
  return asObject(request.field('prompt_cache_options')).mode === 'explicit';
}

/** Whether the caller marks messages, and not only tools and instructions. */
export function marksMessages({ markedUntil, messages }: ModelRequest): boolean {
  return markedUntil !== undefined && markedUntil >= 0 && messages[markedUntil]?.role !== 'preamble';
}

/**
 * The share of a request's array up to the caller's last mark, by bytes: the vendor's cache could
 * have kept no more of it. 0 without a mark; undefined where the cache needs none, or where the
 * form of the model's marks is not known.
 */
export function markedShare(request: ModelRequest, hits: HitRule): number | undefined {
  const needsMarks = hits === 'marks' ? request.cacheMarks.field === 'cache_control' : marksAll(request);
  if (!needsMarks) return undefined;
  const { markedUntil, messages, tools } = request;
  if (markedUntil === undefined) return 0;
  if (markedUntil === messages.length - 1) return 1;
  const sizes = [tools?.bytes ?? 0, ...messages.map(({ bytes }) => bytes)];
  const sum = (parts: readonly number[]): number => parts.reduce((total, part) => total + part, 0);
  return sum(sizes.slice(0, markedUntil + 2)) / Math.max(1, sum(sizes));
}

/**
 * Whether Precis asks the vendor why its cache was missed (docs/money.md#asking-the-vendor). It is
 * asked of the conversation's last answer, as far as this isolate knows it.
 */
export function asksDiagnostics({ request, chosen: { strategy }, owner, scope }: Call): boolean {
  if (!edits(strategy) || strategy.cache_diagnostics !== true || owner.off.length > 0) return false;
  // Such requests pass unchanged.
  if (request.upstreamState !== undefined || request.isCompaction) return false;
  return scope.caller.tenant !== undefined && !isRefused('diagnostics', request, scope);
}
