/**
 * What Precis adds to a body beside its view: marks (docs/design.md#marks) and keys of the prompt
 * cache, and the questions for a stream's usage and for why the cache was missed. An upstream that
 * refuses one of them is asked again without, and gets none for a while.
 */
import type { ModelTables } from '../../memory/models/terms.ts';
import { marksChoiceOf, passesThrough } from '../../memory/modes/strategy.ts';
import type { MemoryStrategy } from '../../memory/modes/table.ts';
import type { Additions, ModelRequest } from '../../protocol/model-request.ts';
import type { Call } from '../../request/call.ts';
import { isRefused, noteRefused } from '../../request/model-refusals.ts';
import { marksMessages } from '../../request/prompt-cache.ts';
import { isOpenRouter } from '../../upstream/api.ts';
import { termsFor } from '../../view/made-before.ts';
import type { BodyOf, BodyPart, Retry } from './retry.ts';

type Marks = Pick<Additions, 'marks' | 'movesMark' | 'losesMarks'>;

/**
 * The marks to write: as many of Precis's as the caller's leave room for. One moves along unless
 * the caller's do.
 */
export function marksOf(request: ModelRequest, strategy: MemoryStrategy, tables: ModelTables): Marks {
  const losesMarks = marksChoiceOf(strategy) === 'off';
  // Such requests pass as they are.
  const passes = request.upstreamState !== undefined || request.isCompaction;
  if (passes || !termsFor(request, strategy, tables).marks) return { losesMarks };
  const marks = Math.max(request.cacheMarks.most - request.marks, 0);
  return { marks, movesMark: marks > 0 && !marksMessages(request), losesMarks };
}

/**
 * Whether Precis asks for a stream's usage where its caller does not, so that the request has a
 * bill; the caller's stream is as if nobody had asked. OpenRouter reports it to all, with the cost,
 * so its callers keep it (https://openrouter.ai/docs/use-cases/usage-accounting).
 *
 * @param isRead whether a listener reads it
 */
export function asksUsage({ request, chosen, scope }: Call, isRead: boolean): boolean {
  if (isOpenRouter(scope.services.config.upstreamBaseUrl)) return false;
  const isWanted = isRead || scope.spending !== undefined;
  if (!isWanted || passesThrough(chosen.strategy) || !request.hidesUsage) return false;
  return !isRefused('usage', request, scope);
}

type OwnField = Extract<BodyPart, 'marks' | 'key' | 'usage' | 'diagnostics'>;

/** What a refusal of each names, beside a mark's own words, and what is logged then. */
const REFUSALS: Readonly<Record<OwnField, { readonly names?: RegExp; readonly refuses: string }>> = {
  marks: { refuses: 'marks of its prompt cache' },
  key: { names: /prompt_cache_key/, refuses: 'keys of its prompt cache' },
  usage: { names: /stream_options|include_usage/, refuses: 'to report the usage of streams' },
  diagnostics: {
    names: /prompt_cache_options|comparison_response_id|diagnostics|previous_message_id/,
    refuses: 'diagnostics of its prompt cache',
  },
};

/**
 * Whether a status fits an error about a field. Servers in Python that hand fields on as arguments
 * send a 500: "Llama.create_chat_completion() got an unexpected keyword argument 'stream_options'".
 */
function mayBeOfField(status: number | undefined): boolean {
  return status === 400 || status === 422 || status === 500 || status === 501;
}

export function withoutField(part: OwnField, { request, chosen, scope }: Call, bodyOf: BodyOf): Retry {
  const { services } = scope;
  const { names = request.cacheMarks.refusal, refuses } = REFUSALS[part];
  const isSent = (): boolean =>
    part !== 'marks' || (marksOf(request, chosen.strategy, services.config).marks ?? 0) > 0;
  return {
    mayHelp: ({ without }, status) => mayBeOfField(status) && !without.has(part) && isSent(),
    next: async (refused, { json }) => {
      if (!names.test(json)) return undefined;
      const without = new Set([...refused.without, part]);
      // Where nothing of Precis's was in it, the upstream refuses what is the caller's.
      const isSame = Buffer.compare(bodyOf({ ...refused, without }).body, refused.sent) === 0;
      return isSame ? undefined : { made: refused.made, without };
    },
    answered: () => {
      noteRefused(part, request, scope);
      services.log('info', `the upstream refuses ${refuses}`, { code: `${part}_refused` });
    },
  };
}
