/** The Durable Object's part: it makes the texts that are asked for, of material that comes too. */
import type { Result } from '../lib/result.ts';
import { plus } from '../lib/sums.ts';
import type { Log } from '../log.ts';
import { DIGEST_TOKENS, digested } from '../memory/edits/output-digest.ts';
import { counts, modelFault } from '../memory/money/caller-limits.ts';
import { dearestSpend, spendAtEnd } from '../memory/money/spending.ts';
import { createTokenCounter, loadTokenize, type TokenCounter } from '../memory/tokens/tokens.ts';
import type { Memory, WrittenText } from '../storage/conversation/memories.ts';
import type { TextProgress } from '../storage/conversation/texts.ts';
import type { Budget } from '../storage/tenant/budget.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { CallGuard, GuardedCall } from '../upstream/call-guard.ts';
import type { ModelFault } from '../upstream/model-client.ts';
import { askUntilValid, type Retries } from './attempts.ts';
import type { DigestMaterial, TextMaterial, VersionMaterial } from './conversation.ts';
import { NO_TRANSCRIPT } from './kept-transcript.ts';
import { askCompaction } from './own-compaction.ts';
import { type GuardedSummarizer, NO_USAGE } from './summarizer.ts';
import { type DigestFault, validateDigest } from './text/output-digest.ts';
import { knownOf, type Progress, type WritingFault, type WrittenSummary, writeSummary } from './writer.ts';

/** What refusals have shown of summarizers' windows while an object lives, in tokens. */
export type KnownWindows = Map<string, number>;

interface WriterServices {
  /** The limits before each call. */
  readonly guard: CallGuard;
  readonly windows: KnownWindows;
  readonly log: Log;
}

/** @param base the version that it builds on */
export async function writeText(
  material: TextMaterial,
  base: Memory | null,
  progress: TextProgress,
  services: WriterServices,
): Promise<WrittenText> {
  const counter = createTokenCounter(await loadTokenize(material.encoding));
  if (material.of === 'digest') return writeDigest(material, progress, services, counter);
  return writeVersion(material, base, progress, services, counter);
}

/** A summary, and what is kept of it beside its text (see `Memory`). */
type MadeSummary = WrittenSummary & { readonly signed?: string };

async function writeVersion(
  { task, transcript, compaction, target: asked }: VersionMaterial,
  base: Memory | null,
  progress: TextProgress,
  { guard, windows, log }: WriterServices,
  counter: TokenCounter,
): Promise<WrittenText> {
  const start = Date.now();
  const server = `${asked.baseUrl} ${asked.model}`;
  const target = { ...asked, window: Math.min(asked.window, windows.get(server) ?? asked.window), guard };
  let window: number | undefined;
  const own: Progress = {
    ...progress,
    advance: (chunk) => {
      const { model } = target;
      progress.advance({ ...chunk, ...NO_TRANSCRIPT, model, ms: Date.now() - start });
    },
    narrowed: (smaller, isKnown) => {
      if (!isKnown) return;
      windows.set(server, smaller);
      window = smaller;
    },
  };
  const byItself = () => writeSummary(task, knownOf(base), target, counter, own);
  const written = await ownFirst(compaction, target, own, counter, log, byItself);
  const ms = Date.now() - start;
  if (!written.ok) {
    const { usage, ...reason } = written.reason;
    return { made: { ok: false, reason }, usage, window };
  }
  const { text, tokens, signed, usage } = written.value;
  const { model } = (signed === undefined ? undefined : compaction) ?? target;
  return { made: { ok: true, value: { text, tokens, signed, model, ms, ...transcript } }, usage, window };
}

/** Asks for the API's own summary first, if there is a call for it. */
async function ownFirst(
  compaction: VersionMaterial['compaction'],
  { guard }: GuardedSummarizer,
  progress: Progress,
  counter: TokenCounter,
  log: Log,
  byItself: () => Promise<Result<WrittenSummary, WritingFault>>,
): Promise<Result<MadeSummary, WritingFault>> {
  if (!compaction) return byItself();
  const { made, usage } = await askCompaction(compaction, guard, counter, progress);
  if (made.ok) return { ok: true, value: { ...made.value, usage } };
  const { error: code, cause } = made.reason;
  const fields = { code, ...(cause === undefined ? {} : { error: cause }) };
  log('info', "the API's own summary was not made", fields);
  if (!progress.goesOn()) return { ok: false, reason: { error: 'given_up', usage } };
  const written = await byItself();
  if (!written.ok)
    return { ok: false, reason: { ...written.reason, usage: plus(usage, written.reason.usage) } };
  return { ok: true, value: { ...written.value, usage: plus(usage, written.value.usage) } };
}

/** A request waits for it. */
const digestRetries = (): Retries => ({
  attempts: 2,
  backoffMs: TIME_LIMITS.summaryBackoffMs,
  longestPauseMs: TIME_LIMITS.longestDigestPauseMs,
});

/** Faults of the summarizer itself. After one it rests, so that not every output waits for it. */
const OUTAGES: ReadonlySet<string> = new Set<ModelFault['code']>([
  'timeout',
  'unreachable',
  'rate_limited',
  'upstream_error',
  'refused',
]);

async function writeDigest(
  { prompt, removal, target }: DigestMaterial,
  { late, goesOn }: TextProgress,
  { guard }: WriterServices,
  counter: TokenCounter,
): Promise<WrittenText> {
  const start = Date.now();
  let usage = NO_USAGE;
  const failed = (error: string, cause?: string): WrittenText => {
    const isOutage = OUTAGES.has(error);
    const reason = { error, isOutage, ...(cause === undefined ? {} : { cause }) };
    return { made: { ok: false, reason }, usage };
  };
  // The outputs before it have taken all of the time.
  if (start >= late) return failed('late');
  if (!prompt) return failed('window_too_small');
  const written = await askUntilValid<DigestFault>(
    { ...target, guard },
    {
      prompt,
      maxTokens: DIGEST_TOKENS,
      retries: digestRetries(),
      start,
      late,
      goesOn,
      check: (answer) =>
        validateDigest(answer, counter, (text) => digested(removal, text, counter) !== undefined),
      spent: (more) => {
        usage = plus(usage, more);
      },
    },
  );
  if (!written.ok) return failed(written.reason.error, written.reason.cause);
  const { value: text } = written;
  const made = { text, tokens: counter.text(text), model: target.model, ms: Date.now() - start };
  return { made: { ok: true, value: { ...made, ...NO_TRANSCRIPT } }, usage };
}

/**
 * The limits of a caller before the summarizer's work that no request waits for: a conversation's
 * object reserves each call, and settles it, as a request does (`request/callers/spending.ts`).
 * The calls belong to a request that has been sent: budgets hold, and no limit per minute.
 */
export function backgroundGuard(budget: Budget): CallGuard {
  return {
    async admit(call) {
      if (!isAllowed(call, budget)) return undefined;
      if (!counts(budget.limits)) return () => undefined;
      const most = call.most();
      const id = crypto.randomUUID();
      const at = Date.now();
      const order = { id, at, isFurther: true, isSummary: true };
      // A summary can wait for better weather.
      const reserved = await budget
        .reserve({ ...order, ...dearestSpend(most, call.schedule) })
        .catch(() => undefined);
      if (reserved !== 'unknown' && reserved?.state !== 'reserved') return undefined;
      return (end) => budget.settle({ ...order, ...spendAtEnd(end, most, call.schedule) });
    },
  };
}

function isAllowed({ model, schedule, isDeployers }: GuardedCall, { limits }: Budget): boolean {
  return isDeployers || modelFault(limits, model, schedule !== undefined) === undefined;
}
