/** What the rounds of one request answer from: the refs that its view names, and its conversation's archive. */
import type { ChatRequest } from '../protocol/chat.ts';
import type { Call } from '../protocol/chat-turn.ts';
import { namedIn, Retriever } from '../retrieval/retriever.ts';
import type { RoundsStart } from '../retrieval/rounds.ts';
import { answerSearch } from '../retrieval/search-memory.ts';
import type { Archive } from '../storage/archive.ts';
import { archiveWithArray } from './archive.ts';
import type { RequestScope } from './make-view.ts';
import type { OfferedTools } from './offer-tools.ts';
import type { Place } from './place.ts';
import { shelfOf } from './shelf.ts';

/** @param body that went up */
export async function startRounds(
  request: ChatRequest,
  body: Uint8Array,
  { search }: OfferedTools,
  place: Place,
  scope: RequestScope,
): Promise<RoundsStart> {
  const { services, caller } = scope;
  if (!caller.tenant) throw new Error('tools were offered without a tenant');
  const { counter } = await services.counting(request.model);
  const shelf = shelfOf(caller.tenant, services, scope.waitUntil);
  const retriever = new Retriever(shelf, counter, namedIn(new TextDecoder().decode(body)));
  let opening: Promise<Archive | undefined> | undefined;
  const archive = (): Promise<Archive | undefined> => {
    opening ??= archiveWithArray(request, place, scope);
    return opening;
  };
  const answer = ({ name, arguments: args }: Call): Promise<string> => {
    if (name !== search) return retriever.answer(args);
    return answerSearch(args, archive, counter);
  };
  return { body, answerer: { given: retriever.given, answer } };
}
