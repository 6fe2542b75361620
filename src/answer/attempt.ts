/**
 * One attempt at an answer: a view, the messages beside it, the body that went up with both, and
 * the upstream's answer. A retry is another attempt, so whichever attempt is relayed, its report,
 * receipt, event and capture are of the same view.
 */
import type { Context } from 'hono';
import type { Report } from '../memory/plan/report.ts';
import { passesThrough } from '../memory/strategy/strategy.ts';
import type { Beside } from '../protocol/model-request.ts';
import type { ReadBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { compactionOf } from '../request/native-compaction.ts';
import type { AppEnv } from '../request/services.ts';
import { sharedAccount } from '../request/shared-account.ts';
import type { UpstreamAnswer } from '../upstream/fetch.ts';
import { type BesideView, besideView } from '../view/beside-view.ts';
import type { Injected } from '../view/inject.ts';
import type { MadeView } from '../view/made-view.ts';
import { type ReasoningWish, reasoningWish } from './ask-reasoning.ts';
import { askUpstream } from './ask-upstream.ts';
import { ThinkingDrop } from './drop-thinking.ts';
import { type MarkWish, markWish } from './mark-wish.ts';
import { sinceBefore } from './moved-since.ts';
import { receiptLater, withReceipt } from './receipt-later.ts';
import type { AttemptTails, Run } from './run.ts';

export interface Attempt {
  readonly made: MadeView;
  readonly beside: BesideView;
  /** The body that went up. */
  readonly sent: Uint8Array;
  readonly answer: UpstreamAnswer;
  /** The usage of its answers. */
  readonly tails: AttemptTails | undefined;
  /** The report of the view, with the messages beside it and its receipt. */
  report(): Promise<Report>;
}

/** What the attempts at one answer share. */
export interface Asking {
  readonly c: Context<AppEnv>;
  /** Below the upstream's base URL. */
  readonly path: string;
  readonly call: Call;
  readonly came: ReadBody;
  readonly run: Run | undefined;
  /** The messages of cross-session memory before a move of the frontier. */
  readonly frozen: Injected;
}

/** Makes the attempts at one answer. */
export class Attempts {
  readonly wish: ReasoningWish;
  readonly thinking: ThinkingDrop;
  private readonly asking: Asking;
  private readonly marks: MarkWish;

  /** @param offersTools whether the model is given tools of ours */
  constructor(asking: Asking, offersTools: boolean) {
    const { request, scope } = asking.call;
    this.asking = asking;
    this.wish = reasoningWish(request, offersTools, scope);
    this.marks = markWish(request, scope);
    this.thinking = new ThinkingDrop(asking.call);
  }

  /** The messages beside a view, which may change when the frontier moves. */
  beside(made: MadeView): Promise<BesideView> {
    const { call, frozen } = this.asking;
    return besideView(call, made, frozen);
  }

  /** The body of a view, and whether it has lost thinking. */
  bodyOf({ made, beside }: Pick<Attempt, 'made' | 'beside'>): { body: Uint8Array; isCut: boolean } {
    const marks = this.marks.most(made.view);
    const whole = writeBody(this.asking.call, made, beside, { marks, reasoning: this.wish.isAsked });
    const cut = this.thinking.bodyOf(whole);
    return { body: cut ?? whole, isCut: cut !== undefined };
  }

  /**
   * Sends a view.
   *
   * @throws ApiError if there is no answer
   */
  async make(made: MadeView, beside: BesideView): Promise<Attempt> {
    const { call, came, run } = this.asking;
    const { chosen, scope } = call;
    const receipt = chosen.report ? receiptLater(call, made) : undefined;
    const tails = run?.attempts();
    let sent = came.bytes;
    let isCut = false;
    const sendOnce = () => {
      ({ body: sent, isCut } = this.bodyOf({ made, beside }));
      run?.sends(sent);
      const isSame = sent.buffer === came.bytes.buffer && sent.length === came.bytes.length;
      // With the deployer's key, bodies go up unencoded.
      const mayBeEncoded = isSame && passesThrough(chosen.strategy) && !scope.services.config.access;
      return mayBeEncoded && came.encoded ? this.go(came.encoded, undefined, true) : this.send(sent);
    };
    const asked = this.wish.ask(() => this.marks.ask(sendOnce));
    const told = sinceBefore(call, made);
    const answer = await asked;
    const report = async () => {
      const whole = withReceipt(beside.told(await told), await receipt);
      return isCut ? { ...whole, warnings: [...whole.warnings, 'thinking_dropped' as const] } : whole;
    };
    return { made, beside, sent, answer, tails, report };
  }

  /** Sends a body of the same request. @param left see `askUpstream`. @throws ApiError */
  readonly send = (body: Uint8Array, left?: AbortSignal): Promise<UpstreamAnswer> => this.go(body, left);

  private async go(
    body: Uint8Array | ReadableStream,
    left?: AbortSignal,
    asItCame?: true,
  ): Promise<UpstreamAnswer> {
    const { c, path, call, run } = this.asking;
    const answer = await askUpstream(c, call.scope, path, body, left, asItCame);
    return run?.hear(answer) ?? answer;
  }
}

/** The body of a view with all that goes up beside it. The upstream's count reads it too. */
export function writeBody(
  { request, chosen, scope }: Call,
  { view, tools }: Pick<MadeView, 'view' | 'tools'>,
  beside: Pick<BesideView, 'messages'>,
  more: Pick<Beside, 'marks' | 'reasoning' | 'shared'> = {},
): Uint8Array {
  return request.write(view, {
    injected: beside.messages,
    tools: tools?.definitions,
    shared: sharedAccount(scope),
    compaction: compactionOf(chosen.strategy, request, scope.services.config),
    ...more,
  });
}
