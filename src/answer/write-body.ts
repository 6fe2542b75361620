/**
 * The body of a view. Nothing else writes one for the upstream, but for one that is sent unchanged.
 */
import type { Additions } from '../protocol/model-request.ts';
import { withoutThinking } from '../protocol/thinking.ts';
import type { Call } from '../request/call.ts';
import { compactionOf } from '../request/native-compaction.ts';
import type { AddedMessages } from '../view/added-messages.ts';
import { bodies } from '../view/made-before.ts';
import type { MadeView } from '../view/made-view.ts';
import type { AskOptions } from './ask-upstream.ts';

/** What the headers must say of a view with a summary that the API has signed. */
export function betaOf({ view }: Pick<MadeView, 'view'>, { request }: Call): AskOptions['listed'] {
  return view?.summary?.signed === undefined ? undefined : request.ownCompaction?.beta;
}

/** All thinking: of the messages, and of what else a body has. */
export const ALL_THINKING = Number.POSITIVE_INFINITY;

export interface WrittenBody {
  readonly body: Uint8Array;
  /** The messages before this one have lost their thinking. */
  readonly thinkingFrom: number;
}

/** The body of a view with all that is added to it. The upstream's count reads it too. */
export function writeBody(
  { request, chosen, scope, kept }: Call,
  { view, tools, movesInstructions }: Pick<MadeView, 'view' | 'tools' | 'movesInstructions'>,
  added: Pick<AddedMessages, 'messages'>,
  more: Pick<
    Additions,
    'marks' | 'movesMark' | 'losesMarks' | 'reasoning' | 'shared' | 'cacheKey' | 'comparedWith' | 'usage'
  >,
  thinkingFrom: number,
): WrittenBody {
  const additions = {
    injected: added.messages,
    tools: tools?.definitions,
    movesInstructions: movesInstructions === true,
    compaction: compactionOf(chosen.strategy, request, scope.services.config),
    ...more,
    ...(thinkingFrom === ALL_THINKING ? {} : { thinkingFrom }),
  };
  const { injected, ...others } = additions;
  // What is added from storage is read anew, and can be deleted.
  const isSame = view !== undefined && injected.length === 0;
  const write = () => request.write(view, additions, isSame ? kept : undefined);
  const body = isSame ? bodies.of(view, [request, ...Object.values(others)], write) : write();
  if (thinkingFrom !== ALL_THINKING) return { body, thinkingFrom };
  const cut = withoutThinking(body, request.conversationField);
  return { body: cut ?? body, thinkingFrom: request.messages.length };
}
