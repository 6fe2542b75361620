/**
 * What the next request of a conversation is compared with
 * (`memory/conversation/request-prefix.ts`). Made after the answer, since no request waits for it.
 */
import { Latest } from '../lib/latest.ts';
import { nameOfSaid } from '../memory/conversation/answer-keys.ts';
import { blocksOf, reasoningByMessage } from '../memory/conversation/kept-reasoning.ts';
import type { Message } from '../memory/conversation/message.ts';
import {
  MESSAGE_CHARACTERS,
  MOVED,
  packedMessages,
  type RequestPrefix,
} from '../memory/conversation/request-prefix.ts';
import {
  bindsThinking,
  dropsThinking,
  dropsUnread,
  reasoningTermsOf,
} from '../memory/models/past-reasoning.ts';
import { editedAt, isCleared } from '../memory/plan/edits-before.ts';
import type { Report } from '../memory/plan/report.ts';
import type { View } from '../memory/plan/view.ts';
import { type EditedAt, isOwn } from '../memory/replay/change.ts';
import type { ComparedRequest } from '../memory/run/followed.ts';
import type { InjectedMessage, ModelRequest } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { sha256Hex } from '../tenant/identity.ts';
import type { MadeView } from '../view/made-view.ts';
import { hashOfAdded, hashOfTools } from '../view/sent-before.ts';

/** In characters, of a hash. */
const LENGTH = 8;
/** In characters. No model has a longer name. */
const LONGEST_MODEL = 128;

/** What of a view is compared. */
export type ComparedView = Pick<
  MadeView,
  'view' | 'tools' | 'movesInstructions' | 'leftBefore' | 'reasoning'
> & {
  /** The messages beside it. */
  readonly added?: readonly InjectedMessage[];
};

/** A request's report and its event need the same. */
const prefixes = new Latest<ModelRequest, RequestPrefix>();

/** @param made the view that was sent; undefined if the body was sent unchanged */
function requestPrefix({ request }: Call, made: ComparedView | undefined): RequestPrefix {
  const { tools, added, movesInstructions } = made ?? {};
  const inputs = [made === undefined, tools, added, movesInstructions];
  return prefixes.of(request, inputs, () => prefixOf(request, made));
}

function prefixOf(request: ModelRequest, made: ComparedView | undefined): RequestPrefix {
  const { model = '', tools, messages, instructions, settings } = request;
  const { effort, format, user, key } = settings;
  const own = hashOfTools(made?.tools).slice(0, LENGTH);
  const added = made ? made.added : [];
  // The API reads them after the conversation, so nothing is bound to them.
  const isLast = instructions !== undefined && dropsThinking(reasoningTermsOf(model));
  const identities = messages.map((message) => {
    if (isLast && message === instructions) return LAST;
    // Over a bridge, what is kept of it is found by what it says.
    return made?.reasoning && message.role === 'assistant' ? spokenName(message) : message.identity;
  });
  return {
    model: model.slice(0, LONGEST_MODEL),
    tools: tools?.digest.slice(0, LENGTH) ?? '',
    effort: hashOf(effort),
    format: hashOf(format),
    user: hashOf(user),
    key: hashOf(key),
    own: made?.movesInstructions ? `${own}${MOVED}` : own,
    ...(added ? { added: hashOfAdded(added).slice(0, LENGTH) } : {}),
    messages: packedMessages(identities),
  };
}

function spokenName(message: Message): string {
  const name = () => sha256Hex(nameOfSaid([message], sha256Hex)).slice(0, MESSAGE_CHARACTERS);
  message.facts.spokenName ??= name();
  return message.facts.spokenName;
}

const LAST = '---';

const latest = new Latest<View, readonly EditedAt[]>();

/** What of a request follows from its array, its view and its report. */
export function comparedRequest(
  call: Call,
  made: ComparedView | undefined,
  { changed, dropped_thinking_blocks: left = 0 }: Pick<Report, 'changed' | 'dropped_thinking_blocks'>,
): Pick<ComparedRequest, 'prefix' | 'own' | 'edited' | 'reasoning'> {
  const { messages } = call.request;
  const { view } = made ?? {};
  const edited = () => editedAt(view, messages.length);
  return {
    prefix: requestPrefix(call, made),
    edited: view ? latest.of(view, [messages], edited) : edited(),
    ...(changed && isOwn(changed) ? { own: changed } : {}),
    ...boundReasoning(call.request, left, made),
  };
}

/**
 * The reasoning of a request whose API binds it, or of which Precis keeps some.
 *
 * @param left the blocks that it was sent without
 * @param made says those that had left before the newest move of the plan, and what is kept
 */
function boundReasoning(
  { model, messages }: Pick<ModelRequest, 'model' | 'messages'>,
  left: number,
  made: ComparedView | undefined,
): Pick<ComparedRequest, 'reasoning'> {
  const terms = reasoningTermsOf(model);
  const before = made?.leftBefore;
  const kept = reasoningByMessage(made?.reasoning);
  const isUnread = dropsUnread(model);
  if (left === 0 && kept.size === 0 && !bindsThinking(terms) && !isUnread) return {};
  const known = { left, ...(before === undefined ? {} : { before }) };
  if (kept.size === 0 && !dropsThinking(terms) && !isUnread) return { reasoning: known };
  let blocksBefore = 0;
  const sent = messages.flatMap((message, index): [number, number][] => {
    const blocks = message.role === 'assistant' ? blocksOf(message, kept.get(index)) : 0;
    blocksBefore += blocks;
    return blocks > 0 && blocksBefore > left ? [[index, blocks]] : [];
  });
  const ofKept = sent
    .filter(([at]) => kept.has(at))
    .filter(([at]) => kept.get(at)?.isLost !== true && !isCleared(made?.view, at));
  return {
    reasoning: {
      ...known,
      ...(dropsThinking(terms) ? { sent } : isUnread ? { sent, dropsUnread: true } : {}),
      ...(ofKept.length > 0 ? { kept: ofKept } : {}),
    },
  };
}

function hashOf(value: unknown): string {
  const json = JSON.stringify(value) ?? '';
  return json === '' ? '' : sha256Hex(json).slice(0, LENGTH);
}
