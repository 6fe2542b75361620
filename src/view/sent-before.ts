/**
 * Whether a view extends the one of the request before, as far as this isolate knows what went
 * upstream (`upstream/sent-requests.ts`). The plan knows its own moves. What else changes the
 * prefix shows here: rounds that were lost or are back, outputs that an upstream wants whole, a
 * smaller window, instructions that move.
 */
import { elementAt } from '../lib/elements.ts';
import { Latest } from '../lib/latest.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { passesThrough } from '../memory/modes/strategy.ts';
import { clearedBefore, earlierRequests, editsBefore } from '../memory/plan/edits-before.ts';
import type { Report } from '../memory/plan/report.ts';
import { type OwnChange, type OwnPrefix, ownChange } from '../memory/replay/change.ts';
import type { InjectedMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { storedConversation } from '../request/conversation.ts';
import { sha256Hex } from '../tenant/identity.ts';
import {
  areSame,
  changedPart,
  movedPart,
  type SentBefore,
  type SentRequest,
  type SentTerms,
} from '../upstream/sent-requests.ts';
import type { MadeView } from './made-view.ts';

/**
 * Undefined if none is known.
 *
 * @param isMeant of those that are known
 */
export function sentBefore(
  call: Call,
  isMeant: (sent: SentRequest) => boolean = () => true,
): SentBefore | undefined {
  const owner = ownerOf(call);
  if (owner === undefined) return undefined;
  const { messages } = call.request;
  const sentRequests = call.scope.services.memory.of('sentRequests');
  const hashes = prefixHashes(messages, sha256Hex);
  const ends = [messages.length, ...earlierRequests(messages)];
  for (const [index, end] of ends.entries()) {
    const seen = sentRequests.get(owner, elementAt(hashes, end));
    if (seen && isMeant(seen.value))
      return { messages: end, sent: seen.value, at: seen.at, isNext: index <= 1 };
  }
  return undefined;
}

/** The vendor's id of the answer before; empty if this isolate does not know it. */
export function answerBefore({ before }: Pick<MadeView, 'before'>): string {
  return (before?.isNext && before.sent.answerId) || '';
}

/** Notes the vendor's id of the answer to a request that was sent. */
export function noteAnswer(call: Call, id: string): void {
  const before = sentBefore(call);
  if (before?.messages === call.request.messages.length) before.sent.answerId = id;
}

/** What `sentBefore` finds, if its plan had the same terms. */
export function sentOnSameTerms(call: Call): SentBefore | undefined {
  const before = sentBefore(call);
  return before && areSame(before.sent.terms, termsOf(call)) ? before : undefined;
}

/** The newest one on the same terms whose cold returns are known, however long ago it was sent. */
export function coldBefore(call: Call): SentBefore | undefined {
  const terms = termsOf(call);
  return sentBefore(call, (sent) => sent.cold !== undefined && areSame(sent.terms, terms));
}

/** What of a view a body has. */
type Sent = Pick<MadeView, 'view' | 'tools' | 'movesInstructions' | 'cold'>;

/** What is Precis's in a body before a message. */
export function ownPrefix(
  { view, tools, movesInstructions = false }: Sent,
  added: readonly InjectedMessage[],
  end: number,
): OwnPrefix {
  const hosted = [...(view?.removals ?? [])].flatMap(([index, ofMessage]) =>
    index < end ? ofMessage.flatMap(({ item }) => (item === undefined ? [] : [`${index}:${item}`])) : [],
  );
  const led = [...(view?.rounds ?? [])].flatMap(([index, { rounds: count }]) =>
    index < end ? [`${index}:${count}`] : [],
  );
  return {
    edits: view ? hashed(view, editsBefore(view, end)) : '',
    reasoning: view ? hashed(view.removals, clearedBefore(view, end)) : '',
    rounds: led.join(),
    hosted: hosted.sort().join(),
    tools: hashOfTools(tools),
    added: hashOfAdded(added),
    instructions: movesInstructions,
  };
}

/**
 * A view whose report says that the frontier has moved where the view does not extend the one of
 * the request before. A move of its plan that changes nothing of what this isolate has sent before
 * is none. A request that comes again has the report that it had.
 *
 * @param refused the view of the same request that the upstream has refused: it began as the one of
 *   the request before
 */
export function withMoved(made: MadeView, call: Call, refused: MadeView | undefined): MadeView {
  const before = refused ? refused.before : sentBefore(call);
  const { report } = made;
  const { trigger, frontier, warnings } = report;
  // Kept rounds were sent in the course of an answer, so the body of the request before lacks them.
  const isWhole = !warnings.includes('rounds_absent');
  const lacksRounds = trigger === 'none' && !isWhole;
  const isLonger = before?.isNext === true && call.request.messages.length > before.messages;
  if (isLonger && isWhole && extendsSent(before, made, call))
    return { ...made, before, report: { ...report, frontier: { ...frontier, moved: false } } };
  const change = frontier.moved
    ? ownChange(lacksRounds ? { part: 'rounds' } : { planned: trigger })
    : ownChange({
        part:
          (refused && partBetween(refused, made, earlierRequests(call.request.messages)[0])) ??
          (before && leftPart(before, made, termsOf(call))),
        isUnread: made.isUnread === true && !isCompared(before, call),
      });
  return { ...made, before, report: change ? moved(report, change) : report };
}

/** Whether a request has sent its view to the end of the one before, on the same terms. */
function isCompared(before: SentBefore | undefined, call: Call): boolean {
  return before?.isNext === true && areSame(before.sent.terms, termsOf(call));
}

/** Whether a view has all that Precis has sent in an earlier request, on the same terms. */
export function extendsSent({ sent, messages }: SentBefore, made: MadeView, call: Call): boolean {
  const terms = termsOf(call);
  return areSame(sent.terms, terms) && !movedPart(sent, ownPrefix(made, [], messages), terms);
}

/** The first part of a view that is not what an earlier request was reported to have. */
function leftPart(
  { isNext, messages, sent }: SentBefore,
  made: MadeView,
  terms: SentTerms,
): keyof OwnPrefix | undefined {
  // Between the two the frontier may have moved in one that another isolate has sent and reported.
  if (!isNext && (made.movedAt === undefined || made.movedAt > messages)) return undefined;
  return movedPart(sent, ownPrefix(made, [], messages), terms);
}

/** What differs in two views of an array before the end of the request before, if there is one. */
function partBetween(
  refused: MadeView,
  made: MadeView,
  end: number | undefined,
): keyof OwnPrefix | undefined {
  if (end === undefined) return undefined;
  const part = changedPart(ownPrefix(refused, [], end), ownPrefix(made, [], end));
  const isWhole = (made.unedited?.size ?? 0) > (refused.unedited?.size ?? 0);
  return part === 'edits' && isWhole ? 'hosted' : part;
}

/** A report that the frontier has moved. The first cause counts. */
export function moved(report: Report, change: OwnChange): Report {
  return { ...report, frontier: { ...report.frontier, moved: true }, changed: report.changed ?? change };
}

/**
 * Notes that a request was sent.
 *
 * @param earlier what is noted of the request already, where a round continues another view
 * @returns what is noted; undefined if nothing is
 */
export function noteSent(
  call: Call,
  made: Sent,
  added: readonly InjectedMessage[],
  thinkingFrom: number,
  earlier?: SentRequest,
): SentRequest | undefined {
  const owner = ownerOf(call);
  if (owner === undefined) return undefined;
  const { messages } = call.request;
  const own = ownPrefix(made, added, messages.length);
  const terms = termsOf(call);
  const reported = earlier?.reported ?? own;
  const { cold } = made;
  const sent = { terms, own, reported, thinkingFrom, cold, hadRounds: earlier?.hadRounds === true };
  const asked = elementAt(prefixHashes(messages, sha256Hex), messages.length);
  call.scope.services.memory.of('sentRequests').set(owner, asked, sent);
  return sent;
}

/** Whose requests are known by their arrays. Undefined where nothing of Precis's is sent. */
function ownerOf({ chosen, owner, scope }: Call): string | undefined {
  const { tenant } = scope.caller;
  const { conversation: id, user } = owner;
  if (!tenant || owner.off.length > 0 || passesThrough(chosen.strategy)) return undefined;
  return id === undefined ? tenant.id : storedConversation(user, { id }, tenant, scope.services).name;
}

function termsOf({ request, chosen: { strategy } }: Call): SentTerms {
  const { model = '', answerTokens: limit, tools } = request;
  return { strategy: hashed(strategy, JSON.stringify(strategy)), model, limit, tools: tools?.digest ?? '' };
}

/** Of messages beside a view; empty without any. */
export function hashOfAdded(added: readonly InjectedMessage[]): string {
  return added.length === 0 ? '' : sha256Hex(JSON.stringify(added));
}

/** Of Precis's tools; empty without any. */
export function hashOfTools(tools: MadeView['tools']): string {
  return tools ? hashed(tools, tools.definitions.join('\n')) : '';
}

/** A request needs the hash of its edits before several points, mostly of the same ones. */
const hashes = new Latest<object, string>();

function hashed(subject: object, text: string): string {
  return text === '' ? '' : hashes.of(subject, [text], () => sha256Hex(text));
}
