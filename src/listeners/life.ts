/** The life of a call: notifies its listeners of its events, in order, and of its end once. */
import { logCaught } from '../log.ts';
import type { Report } from '../memory/plan/report.ts';
import type { AnswerEnd } from '../memory/run/event.ts';
import type { Call } from '../request/call.ts';
import { ApiError, type ErrorCode } from '../request/errors.ts';
import type { RequestScope } from '../request/scope.ts';
import type { MadeView } from '../view/made-view.ts';
import { FEATURES, type Features } from './features.ts';
import type {
  AnsweredModel,
  AskedModel,
  CallForm,
  CallListener,
  CompleteAnswer,
  Head,
  SentBody,
  SettledCall,
} from './listener.ts';

export class CallLife {
  private readonly scope: RequestScope;
  private readonly protocol: CallForm['protocol'];
  private readonly features: Features;
  private readonly listeners: CallListener[] = [];
  private over: PromiseWithResolvers<void> | undefined;
  private head: Head | undefined;
  private asked: AnsweredModel | undefined;
  private text: string | undefined;
  private hasEnded = false;

  constructor(scope: RequestScope, protocol: CallForm['protocol'], features = FEATURES) {
    this.scope = scope;
    this.protocol = protocol;
    this.features = features;
    this.listen(features.everyCall.map((feature) => () => feature(scope, protocol)));
  }

  /** Whether the usage of the upstream's answers is read for a listener. */
  get readsUsage(): boolean {
    return this.listeners.some(({ readsUsage }) => readsUsage);
  }

  /** Whether the answer is read for a listener. */
  get readsAnswer(): boolean {
    return this.listeners.some(({ readsAnswer }) => readsAnswer);
  }

  /** The request is read, and its strategy and owner are known. */
  reads(call: Call, kind: CallForm['kind']): void {
    const { answers, conversations } = this.features;
    const form = { protocol: this.protocol, kind };
    const features = kind === 'answer' ? [...conversations, ...answers] : conversations;
    this.listen(features.map((feature) => () => feature(call, form)));
  }

  /** Does the work of the call. A failure is its end. */
  async through<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }

  sent(body: SentBody): void {
    this.notifyAll((listener) => listener.sent?.(body));
  }

  /** The fields that listeners add to the report of a view. Never throws. */
  async reports(made: MadeView): Promise<Partial<Report>> {
    const fields = this.listeners.map((listener) => this.guarded(() => listener.reports?.(made)));
    return Object.assign({}, ...(await Promise.all(fields)));
  }

  settled(call: SettledCall): void {
    this.asked = call.asked && withoutBody(call.asked);
    this.notifyAll((listener) => listener.settled?.(call));
  }

  begins(head: Head, report: Report): void {
    this.head = head;
    this.notifyAll((listener) => listener.begins?.(head, report));
  }

  completes(answer: CompleteAnswer): void {
    this.text = answer.text;
    this.notifyAll((listener) => listener.completes?.(answer));
  }

  /** The whole answer goes out at once. */
  answered(head: Head, report: Report): void {
    this.begins(head, report);
    this.ended('complete');
  }

  /** The answer has ended. Only the first call counts. */
  ended(how: AnswerEnd): void {
    this.end(how, this.head, undefined);
  }

  /** The answer is an error of Precis's own. */
  failed(error: unknown): void {
    const refusal = error instanceof ApiError ? error : undefined;
    const head = { status: refusal?.status ?? 500, headers: new Headers() };
    this.end('error', head, refusal?.code ?? 'internal_error');
  }

  private end(how: AnswerEnd, head: Head | undefined, refusal: ErrorCode | undefined): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const isError = how === 'complete' && (head?.status ?? 0) >= 400;
    // The connection to the upstream is closed for a caller who has left.
    const hasLeft = this.scope.incoming.signal.aborted && how !== 'complete';
    const ended = hasLeft ? 'caller_left' : isError ? 'error' : how;
    const end = { how: ended, head, refusal, asked: this.asked, text: this.text } as const;
    const work = this.listeners.map((listener) => this.guarded(() => listener.ended?.(end)));
    this.over?.resolve(Promise.all(work).then(() => undefined));
  }

  private listen(features: readonly (() => CallListener | undefined)[]): void {
    for (const begin of features) {
      try {
        const listener = begin();
        if (listener) this.add(listener);
      } catch (error) {
        this.lost(error);
      }
    }
  }

  private add(listener: CallListener): void {
    this.listeners.push(listener);
    if (!listener.ended || this.over) return;
    this.over = Promise.withResolvers();
    // Called now, because after the caller leaves it would be too late.
    this.scope.waitUntil(this.over.promise);
  }

  private notifyAll(notify: (listener: CallListener) => void): void {
    for (const listener of this.listeners) {
      try {
        notify(listener);
      } catch (error) {
        this.lost(error);
      }
    }
  }

  private async guarded<Result>(work: () => Result | Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      this.lost(error);
      return undefined;
    }
  }

  private lost(error: unknown): void {
    logCaught(this.scope.services.log, 'error', 'a listener of a call has failed', error);
  }
}

function withoutBody({ body: _, ...asked }: AskedModel): AnsweredModel {
  return asked;
}
