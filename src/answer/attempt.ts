/** Makes the attempts at one answer, and at its rounds. */

import { writtenShare } from '../listeners/bill-order.ts';
import { withDroppedReasoning } from '../listeners/dropped-reasoning.ts';
import type { CallLife } from '../listeners/life.ts';
import type { Schedule } from '../memory/models/schedule.ts';
import { passesThrough } from '../memory/modes/strategy.ts';
import type { Report } from '../memory/plan/report.ts';
import type { UsageTail } from '../protocol/answers/usage-tail.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { sharedAccount } from '../request/callers/shared-account.ts';
import { isRefused } from '../request/model-refusals.ts';
import { asksDiagnostics, type ConversationKey, conversationKey } from '../request/prompt-cache.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import type { SentRequest } from '../upstream/sent-requests.ts';
import { type AddedMessages, addedMessages } from '../view/added-messages.ts';
import type { Injected } from '../view/inject.ts';
import type { MadeView } from '../view/made-view.ts';
import { answerBefore, noteSent } from '../view/sent-before.ts';
import { type AskOptions, askUpstream } from './ask-upstream.ts';
import { BridgedCall } from './bridge/bridged-call.ts';
import type { KeptAnswers } from './bridge/kept-answers.ts';
import { isRouteRefused, type ReportedApi, type Route, routeOf } from './bridge/route.ts';
import { keptThinkingFrom, withLessThinking } from './kept-thinking.ts';
import type { ModelApi } from './model-api.ts';
import { asksReasoning } from './retries/encrypted-reasoning.ts';
import { asksUsage, marksOf } from './retries/own-fields.ts';
import type { Attempt, BodyPart, NextAttempt } from './retries/retry.ts';
import { keepsRoundsOf } from './rounds/keep-rounds.ts';
import { withStreamType } from './untyped-streams.ts';
import { ALL_THINKING, betaOf, type WrittenBody, writeBody } from './write-body.ts';

/** What the attempts at one answer share. */
interface Asking {
  readonly api: Pick<ModelApi, 'path' | 'field' | 'read'>;
  readonly call: Call;
  readonly came: ReadBody;
  readonly life: CallLife;
  /** The messages of cross-session memory before a move of the frontier. */
  readonly frozen: Injected;
  /** What is kept of earlier answers, if the call is sent over another API. */
  readonly kept: KeptAnswers | undefined;
}

/** A round that an answer continues. */
interface Round {
  readonly left: AbortSignal;
  /** Takes the usage of its answer. */
  readonly usages: UsageTail[];
  /**
   * The body with the rounds so far.
   *
   * @param write the body of the view, for one that the answer did not begin with
   */
  bodyOf(write: () => Uint8Array): Uint8Array;
}

/** What the attempts with one view share. */
interface Viewed {
  readonly added: AddedMessages;
  /** The messages before this one are sent without their thinking. */
  readonly thinkingFrom: number;
  /** Begun when it is first asked for. */
  report(): Promise<Report>;
}

/** @param lacks whether it is without outputs of answers that its view has */
function overApi(report: Report, api: ReportedApi, lacks: boolean): Report {
  const { warnings } = report;
  return {
    ...report,
    upstream_api: api,
    warnings: lacks ? [...new Set([...warnings, 'reasoning_absent' as const])] : warnings,
  };
}

/** The route of a request whose upstream has refused chat. */
const LEARNED: Route = { api: 'responses', because: 'learned' };

/** A report with the size of the body that was sent. */
function withBytesOf(sent: Uint8Array, report: Report): Report {
  return report.bytes ? { ...report, bytes: { ...report.bytes, after: sent.length } } : report;
}

export class Attempts {
  private readonly asking: Asking;
  private readonly viewed = new Map<MadeView, Viewed>();
  /** For the upstream's prompt cache. */
  private readonly key: ConversationKey | undefined;
  /** Whether bodies ask for usage that the caller does not ask for. */
  readonly asksUsage: boolean;
  /** Whether the vendor is asked why its cache was missed. */
  readonly asksDiagnostics: boolean;
  private sent: SentRequest | undefined;
  private hasAsked = false;
  /** The API that the request is to be sent over; undefined for the caller's. */
  private route: Route | undefined;
  /** Undefined before a body is sent over another API. */
  bridged: BridgedCall | undefined;

  constructor(asking: Asking) {
    this.asking = asking;
    this.key = conversationKey(asking.call);
    this.asksUsage = asksUsage(asking.call, asking.life.readsUsage);
    this.asksDiagnostics = asksDiagnostics(asking.call);
  }

  /** Whether bodies have a key by Precis. */
  get sendsKey(): boolean {
    return this.key !== undefined && this.key.header === undefined;
  }

  /** Whether the request is to be sent over another API. */
  get isBridged(): boolean {
    return this.route !== undefined;
  }

  /** The first attempt, without what the upstream is known to refuse. */
  first(made: MadeView): NextAttempt {
    const { call } = this.asking;
    const { request, scope } = call;
    const without = new Set<BodyPart>();
    this.route = routeOf(call, made.tools !== undefined);
    if (!this.route || isRouteRefused(this.route.api, call)) without.add('bridge');
    for (const part of ['ids', 'marks', 'strict'] as const)
      if (isRefused(part, request, scope)) without.add(part);
    if (this.sendsKey && isRefused('key', request, scope)) without.add('key');
    if (!asksReasoning(request, made.tools !== undefined, scope)) without.add('reasoning');
    return { made, without };
  }

  /**
   * Sends a view.
   *
   * @param round the round that it continues; absent: the answer begins with it
   * @throws ApiError if there is no answer
   */
  async send({ made, without }: NextAttempt, round?: Round): Promise<Attempt> {
    const { call, came, life } = this.asking;
    const { added, report } = await this.viewOf(made);
    const usages = round?.usages ?? [];
    let written: WrittenBody | undefined;
    const write = (): Uint8Array => {
      written = this.bodyOf({ made, without, added });
      return written.body;
    };
    const sent = round ? round.bodyOf(write) : write();
    const isSame = sent.buffer === came.bytes.buffer && sent.length === came.bytes.length;
    // With the deployer's key, bodies are sent unencoded.
    const mayBeEncoded =
      isSame &&
      without.has('bridge') &&
      passesThrough(call.chosen.strategy) &&
      !call.scope.services.config.access;
    // Where no rounds are kept, no caller gets what was thought after them.
    if (round && this.sent && keepsRoundsOf(call, made.tools)) this.sent.hadRounds = true;
    const answering =
      mayBeEncoded && came.encoded
        ? this.ask(came.encoded, usages, { keepsEncoding: true })
        : this.ask(
            sent,
            usages,
            {
              left: round?.left,
              tokens: round ? undefined : made.report.tokens?.after,
              listed: betaOf(made, call),
            },
            { made, without },
          );
    const plan = { report: made.report, view: made.view, refused: made.refused ?? [] };
    if (!round) life.sent({ body: sent, usages, plan });
    const viewReport = report().then((made) => withBytesOf(sent, made));
    const answer = await answering;
    const over = this.reportedApi(without);
    const bridged = over && !without.has('bridge') ? this.bridged : undefined;
    const thinkingFrom = Math.max(written?.thinkingFrom ?? 0, bridged?.keptFrom ?? 0);
    // The caller has the report of the view that the answer began with.
    const earlier = round && this.sent;
    if (written && answer.response.ok)
      this.sent = noteSent(call, made, added.messages, thinkingFrom, earlier);
    const isLess = thinkingFrom > (made.view?.thinkingFrom ?? 0);
    const sentReport = over
      ? viewReport.then((report) => overApi(report, over, bridged?.lacksOutputs === true))
      : viewReport;
    const reported = isLess
      ? sentReport.then((reported) => withLessThinking(reported, call, thinkingFrom, made))
      : sentReport;
    return {
      made,
      without,
      added,
      sent,
      answer,
      usages,
      report: round
        ? reported
        : reported.then((report) =>
            withDroppedReasoning(report, call, { ...made, added: added.messages }, answer.response.ok),
          ),
    };
  }

  bodyOf({ made, without, added }: Pick<Attempt, 'made' | 'without' | 'added'>): WrittenBody {
    const { call } = this.asking;
    const { request, chosen, scope } = call;
    const marks = without.has('marks') ? {} : marksOf(request, chosen.strategy, scope.services.config);
    const reasoning = !without.has('reasoning');
    const thinkingFrom = this.thinkingFrom({ made, without });
    const usage = this.asksUsage && !without.has('usage');
    const cacheKey = this.sendsKey && !without.has('key') ? this.key?.key : undefined;
    const comparedWith = this.asksDiagnostics && !without.has('diagnostics') ? answerBefore(made) : undefined;
    const shared = sharedAccount(scope, { hasOwnKey: this.key !== undefined });
    return writeBody(
      call,
      made,
      added,
      { ...marks, reasoning, cacheKey, comparedWith, shared, usage },
      thinkingFrom,
    );
  }

  /**
   * Sends a body of the same request.
   *
   * @throws ApiError
   */
  private async ask(
    body: Uint8Array | ReadableStream,
    usages: UsageTail[],
    options: Pick<AskOptions, 'left' | 'keepsEncoding' | 'tokens' | 'listed'> = {},
    next?: NextAttempt,
  ): Promise<UpstreamAnswer> {
    const { api, call, life } = this.asking;
    const { key } = this;
    const headers = key?.header === undefined ? [] : [[key.header, key.key] as const];
    const given = {
      ...options,
      headers,
      counts: life.readsUsage,
      isFurther: this.hasAsked,
      writes: (schedule: Schedule | null) => writtenShare(call, schedule),
    };
    this.hasAsked = true;
    const asked =
      next && !next.without.has('bridge') && body instanceof Uint8Array
        ? await this.askOver(body, given, next)
        : await askUpstream(call.scope, api.path, body, given);
    const answer = call.request.field('stream') === true ? await withStreamType(asked, call.scope) : asked;
    if (answer.usage) usages.push(answer.usage);
    return answer;
  }

  /** Sends a body over another API. */
  private askOver(body: Uint8Array, options: AskOptions, next: NextAttempt) {
    const { api, call, kept } = this.asking;
    const { made, without } = next;
    this.bridged ??= new BridgedCall(call, this.route ?? LEARNED, api, kept);
    const thinkingFrom = this.thinkingFrom(next);
    const { asksUsage: hidesUsage } = this;
    return this.bridged.ask(api.path, body, { made, thinkingFrom, without, hidesUsage, options });
  }

  private thinkingFrom({ made, without }: NextAttempt): number {
    return without.has('thinking') ? ALL_THINKING : (this.viewed.get(made)?.thinkingFrom ?? 0);
  }

  private reportedApi(without: ReadonlySet<BodyPart>): ReportedApi | undefined {
    if (!without.has('bridge')) return this.bridged?.reported;
    return this.route && { api: 'chat', because: 'refused' };
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
      thinkingFrom: keptThinkingFrom(call, made, added),
      report: () => {
        report ??= life.reports(made).then((fields) => ({ ...added.addTo(made.report), ...fields }));
        return report;
      },
    };
    this.viewed.set(made, viewed);
    return viewed;
  }
}
