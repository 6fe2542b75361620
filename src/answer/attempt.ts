/**
 * Writes the bodies of the attempts at one answer, and sends them. Nothing else writes a body for
 * the upstream, but for one that goes up as it came.
 */

import { passesThrough } from '../memory/modes/strategy.ts';
import type { Report } from '../memory/plan/report.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { Additions } from '../protocol/model-request.ts';
import { withoutThinking } from '../protocol/thinking.ts';
import type { ReadBody } from '../request/body.ts';
import { type ConversationKey, conversationKey } from '../request/cache-key.ts';
import type { Call } from '../request/call.ts';
import { sharedAccount } from '../request/callers/shared-account.ts';
import { compactionOf } from '../request/native-compaction.ts';
import type { CallLife } from '../tell/life.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { SentRequest } from '../upstream/sent-requests.ts';
import { type AddedMessages, addedMessages } from '../view/added-messages.ts';
import type { Injected } from '../view/inject.ts';
import { bodies } from '../view/made-before.ts';
import type { MadeView } from '../view/made-view.ts';
import { noteSent, type SentBefore, sentBefore } from '../view/sent-before.ts';
import { type AskOptions, askUpstream } from './ask-upstream.ts';
import { keptThinkingFrom, withLessThinking } from './kept-thinking.ts';
import { refusesKeys } from './retries/cache-key.ts';
import { marksOf, refusesMarks } from './retries/cache-marks.ts';
import { asksReasoning } from './retries/encrypted-reasoning.ts';
import type { Attempt, BodyPart, NextAttempt } from './retries/retry.ts';
import { asksUsage } from './retries/stream-usage.ts';

/** What the attempts at one answer share. */
interface Asking {
  /** Below the upstream's base URL. */
  readonly path: string;
  readonly call: Call;
  readonly came: ReadBody;
  readonly life: CallLife;
  /** The messages of cross-session memory before a move of the frontier. */
  readonly frozen: Injected;
}

/** What the attempts with one view share. */
interface Viewed {
  readonly added: AddedMessages;
  /** The messages before this one go up without their thinking. */
  readonly thinkingFrom: number;
  /** Begun when it is first asked for. */
  report(): Promise<Report>;
}

/** Makes the attempts at one answer. */
export class Attempts {
  private readonly asking: Asking;
  private readonly viewed = new Map<MadeView, Viewed>();
  /** For the upstream's prompt cache. */
  private readonly key: ConversationKey | undefined;
  /** Whether bodies ask for usage that the caller does not ask for. */
  readonly asksUsage: boolean;
  /** The request before, as it was known when this one began. */
  private readonly before: SentBefore | undefined;
  private sent: SentRequest | undefined;
  private hasAsked = false;

  constructor(asking: Asking) {
    this.asking = asking;
    this.key = conversationKey(asking.call);
    this.before = sentBefore(asking.call);
    this.asksUsage = asksUsage(asking.call, asking.life.readsUsage);
  }

  /** Whether bodies have a key of ours. */
  get sendsKey(): boolean {
    return this.key !== undefined && this.key.header === undefined;
  }

  /** The first attempt, without what the upstream is known to refuse. */
  first(made: MadeView): NextAttempt {
    const { call } = this.asking;
    const { request, scope } = call;
    const without = new Set<BodyPart>();
    if (refusesMarks(request, scope)) without.add('marks');
    if (this.sendsKey && refusesKeys(request, scope)) without.add('key');
    if (!asksReasoning(request, made.tools !== undefined, scope)) without.add('reasoning');
    return { made, without };
  }

  /** Sends a view. @throws ApiError if there is no answer */
  readonly make = async ({ made, without }: NextAttempt): Promise<Attempt> => {
    const { call, came, life } = this.asking;
    const viewed = await this.viewOf(made);
    const { added } = viewed;
    const usages: UsageTail[] = [];
    const { body: sent, thinkingFrom } = this.bodyOf({ made, without, added });
    const isSame = sent.buffer === came.bytes.buffer && sent.length === came.bytes.length;
    // With the deployer's key, bodies go up unencoded.
    const mayBeEncoded = isSame && passesThrough(call.chosen.strategy) && !call.scope.services.config.access;
    const answering =
      mayBeEncoded && came.encoded
        ? this.ask(came.encoded, usages, { asItCame: true })
        : this.ask(sent, usages, { tokens: made.report.tokens?.after, listed: betaOf(made, call) });
    const plan = { report: made.report, view: made.view, refused: made.refused ?? [] };
    life.sent({ body: sent, usages, plan });
    const viewReport = viewed.report();
    const answer = await answering;
    const isLess = thinkingFrom > (made.view?.thinkingFrom ?? 0);
    const report = isLess
      ? viewReport.then((told) => withLessThinking(told, call, thinkingFrom, this.before))
      : viewReport;
    if (answer.response.ok) this.sent = noteSent(call, made, added.messages, thinkingFrom);
    return { made, without, added, sent, answer, usages, report };
  };

  /** The body of an attempt. */
  bodyOf({ made, without, added }: Pick<Attempt, 'made' | 'without' | 'added'>): WrittenBody {
    const { call } = this.asking;
    const { request, chosen, scope } = call;
    const marks = without.has('marks') ? {} : marksOf(request, chosen.strategy, scope.services.config);
    const reasoning = !without.has('reasoning');
    const known = this.viewed.get(made)?.thinkingFrom ?? 0;
    const thinkingFrom = without.has('thinking') ? ALL_THINKING : known;
    const usage = this.asksUsage && !without.has('usage');
    const cacheKey = this.sendsKey && !without.has('key') ? this.key?.key : undefined;
    const shared = sharedAccount(scope, { hasOwnKey: this.key !== undefined });
    return writeBody(call, made, added, { ...marks, reasoning, cacheKey, shared, usage }, thinkingFrom);
  }

  /**
   * Goes on after a round of ours.
   *
   * @param usages takes the usage of its answer
   * @param made the view that the body begins with
   * @throws ApiError
   */
  goOn(
    body: Uint8Array,
    usages: UsageTail[],
    left: AbortSignal,
    made: Pick<MadeView, 'view'>,
  ): Promise<UpstreamAnswer> {
    if (this.sent) this.sent.hadRounds = true;
    return this.ask(body, usages, { left, listed: betaOf(made, this.asking.call) });
  }

  /**
   * Goes on with another view.
   *
   * @param usages takes the usage of its answer
   * @param onto puts the rounds so far after its body
   * @throws ApiError
   */
  async goOnWith(
    { made, without }: NextAttempt,
    usages: UsageTail[],
    left: AbortSignal,
    onto: (body: Uint8Array) => Uint8Array,
  ): Promise<Attempt> {
    const { added, report } = await this.viewOf(made);
    const { call } = this.asking;
    const { body, thinkingFrom } = this.bodyOf({ made, without, added });
    const sent = onto(body);
    const answer = await this.ask(sent, usages, { left, listed: betaOf(made, call) });
    // The caller has the report of the view before.
    const reported = this.sent?.reported;
    if (answer.response.ok) this.sent = noteSent(call, made, added.messages, thinkingFrom, reported);
    if (this.sent) this.sent.hadRounds = true;
    return { made, without, added, sent, answer, usages, report: report() };
  }

  /**
   * Sends a body of the same request.
   *
   * @param usages takes the usage of its answer
   * @throws ApiError
   */
  async ask(
    body: Uint8Array | ReadableStream,
    usages: UsageTail[],
    options: Pick<AskOptions, 'left' | 'asItCame' | 'tokens' | 'listed'> = {},
  ): Promise<UpstreamAnswer> {
    const { path, call, life } = this.asking;
    const { key } = this;
    const header = key?.header === undefined ? undefined : ([key.header, key.key] as const);
    const given = { ...options, header, counts: life.readsUsage, isFurther: this.hasAsked };
    this.hasAsked = true;
    const answer = await askUpstream(call.scope, path, body, given);
    if (answer.usage) usages.push(answer.usage);
    return answer;
  }

  /** A smaller view has moved the frontier, and with it the messages that are added. */
  private async viewOf(made: MadeView): Promise<Viewed> {
    const known = this.viewed.get(made);
    if (known) return known;
    const { call, frozen, life } = this.asking;
    const added = await addedMessages(call, made, frozen);
    let report: Promise<Report> | undefined;
    const viewed: Viewed = {
      added,
      thinkingFrom: keptThinkingFrom(call, made, added, this.before),
      report: () => {
        report ??= life.reports(made).then((fields) => ({ ...added.addTo(made.report), ...fields }));
        return report;
      },
    };
    this.viewed.set(made, viewed);
    return viewed;
  }
}

/** What the headers must say of a view with a summary that the API has signed. */
export function betaOf({ view }: Pick<MadeView, 'view'>, { request }: Call): AskOptions['listed'] {
  return view?.summary?.signed === undefined ? undefined : request.ownCompaction?.beta;
}

/** That of all messages, and of what else a body has. */
const ALL_THINKING = Number.POSITIVE_INFINITY;

interface WrittenBody {
  readonly body: Uint8Array;
  /** The messages before this one have lost their thinking. */
  readonly thinkingFrom: number;
}

/** The body of a view with all that is added to it. The upstream's count reads it too. */
export function writeBody(
  { request, chosen, scope, kept }: Call,
  { view, tools, movesInstructions }: Pick<MadeView, 'view' | 'tools' | 'movesInstructions'>,
  added: Pick<AddedMessages, 'messages'>,
  more: Pick<Additions, 'marks' | 'movesMark' | 'losesMarks' | 'reasoning' | 'shared' | 'cacheKey' | 'usage'>,
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
