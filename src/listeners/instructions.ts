/** Learns from the usage of answers whether the upstream's cache holds instructions. */
import { keyedCacheOf } from '../memory/models/prompt-caches.ts';
import { edits, tokenMeasure } from '../memory/modes/strategy.ts';
import { afterAnswer } from '../memory/money/uncached-instructions.ts';
import { toolTokens } from '../memory/tokens/tokens.ts';
import type { WireMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import type { CallEnd, CallFeature } from './listener.ts';

/** Of requests with instructions in a field of their own, in modes that edit. */
export const instructions: CallFeature = (call) => {
  const { request, chosen, owner, scope } = call;
  const own = request.instructions;
  const isOn = scope.caller.tenant !== undefined && owner.off.length === 0 && edits(chosen.strategy);
  if (!isOn || !own) return undefined;
  // Of other vendors' caches it is not known that they leave instructions out. Without events no
  // answer is heard for its usage.
  const readsUsage = scope.services.config.keepsEvents && keyedCacheOf(request.model) === 'openai';
  return { readsUsage, ended: (end) => learn(call, own, end, readsUsage) };
};

async function learn(
  call: Call,
  instructions: WireMessage,
  { how, asked }: CallEnd,
  readsUsage: boolean,
): Promise<void> {
  if (how !== 'complete' || !asked?.answer.ok) return;
  const conversation = conversationOfCall(call);
  if (!conversation) return;
  const known = call.scope.services.memory.of('instructions').of(conversation.name);
  const cached = readsUsage ? (asked.usages[0]?.usage()?.cached ?? null) : null;
  const answer = {
    place: asked.made.movesInstructions ? ('message' as const) : ('field' as const),
    preamble: `${instructions.digest} ${call.request.tools?.digest ?? ''}`,
    at: Date.now(),
    cached,
    tokens: cached === null ? 0 : await tokensOver(cached, call, instructions),
  };
  known.set('', afterAnswer(known.get(''), answer));
}

/** The tokens of instructions and tools; 0 if there are no more than this many for certain. */
async function tokensOver(
  cached: number,
  { request, chosen, scope }: Call,
  instructions: WireMessage,
): Promise<number> {
  const bytes = instructions.bytes + (request.tools?.bytes ?? 0);
  if (!edits(chosen.strategy) || bytes <= cached) return 0;
  const measure = tokenMeasure(chosen.strategy, request.model, scope.services.config.tokenFactors);
  const { counter } = await scope.caches.counting(measure);
  return counter.message(instructions) + toolTokens(request.tools, counter);
}
