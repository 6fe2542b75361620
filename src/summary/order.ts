/**
 * How a version of a summary is asked for, over a prefix or over a window of rounds, with or
 * without a request that waits: by one method of the conversation's object, which makes it
 * (`background.ts`). Memories of prefixes, windows and sessions differ in their order alone: a
 * range of messages, and the terms of the version.
 */
import { within } from '../lib/time-limit.ts';
import type { Boundary } from '../memory/conversation/passage.ts';
import type { Memory, TextAnswer, TextRequest, Transcript } from '../storage/conversation/memories.ts';
import type { ConversationMemoryStub } from '../storage/objects.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { StoredConversation, SummaryPorts, TextMaterial, VersionMaterial } from './conversation.ts';
import type { Material } from './material.ts';
import type { CompactionCall } from './own-compaction.ts';
import type { SummaryTask } from './writer.ts';

/** The terms of a version. Its boundary is the end of the order's range. */
export type TextTerms = Omit<TextRequest, 'order' | 'since' | 'conversation' | 'from'>;

/** The terms of a version that covers all messages before its boundary. */
export function termsOfAll(strategyHash: string, boundary: Boundary, bases: readonly Boundary[]): TextTerms {
  const retryIntervalMs = TIME_LIMITS.summaryRestMs;
  const all = { startSequence: 0, windowSize: null, retryIntervalMs, exclusive: 'boundary' } as const;
  return { strategyHash, boundary, bases, ...all };
}

/** What the object makes a version of. */
export interface OrderedText {
  readonly material: Material;
  /** See `VersionMaterial`. */
  readonly compaction?: CompactionCall | undefined;
}

/** Calls the object. @throws if it does not answer in time */
export function ask<Result>(
  { memory }: StoredConversation,
  call: (stub: ConversationMemoryStub<TextMaterial>) => Promise<Result>,
  limitMs = TIME_LIMITS.objectCallMs,
): Promise<Result> {
  return within(limitMs, memory(call));
}

/**
 * Waits for a version in the making. The object is asked again every few seconds, so that one that
 * no longer answers is distinguished from one that waits for its summarizer.
 */
async function awaited(
  request: TextRequest,
  conversation: StoredConversation,
  late: number,
  first: TextAnswer,
): Promise<TextAnswer> {
  let answer = first;
  for (let turn = turnUntil(late); answer.state === 'pending' && turn > 0; turn = turnUntil(late)) {
    const waitMs = turn;
    answer = await ask(conversation, (stub) => stub.text(request, null, waitMs), TIME_LIMITS.idleCallMs);
  }
  return answer;
}

function turnUntil(late: number): number {
  return Math.max(0, Math.min(late - Date.now(), TIME_LIMITS.idleTurnMs));
}

/**
 * Asks for a version, and has it made if nobody does: the object is asked before the material is
 * put together, since that takes time.
 *
 * @param late until when the answer is waited for, in milliseconds since the epoch; 0: not at all
 * @param orderOf what it is made of; undefined: it is not to be made now
 * @throws if the object does not answer
 */
export async function askText(
  terms: TextTerms,
  conversation: StoredConversation,
  ports: SummaryPorts,
  late: number,
  orderOf: (wanted: Extract<TextAnswer, { state: 'wanted' }>) => Promise<OrderedText | undefined>,
): Promise<TextAnswer> {
  const request = textRequest(terms, conversation, ports);
  // An object that does not answer is not waited for as long as a summarizer.
  const first = await ask(conversation, (stub) => stub.text(request, null, 0));
  if (first.state === 'wanted') {
    const ordered = await orderOf(first);
    return ordered ? orderText(terms, conversation, ports, late, ordered, first.base) : first;
  }
  return awaited(request, conversation, late, first);
}

/**
 * Has a version made, unless it is there or being made.
 *
 * @param late see `askText`
 * @throws if the object does not answer
 */
export async function orderText(
  terms: TextTerms,
  conversation: StoredConversation,
  ports: SummaryPorts,
  late: number,
  { material, compaction }: OrderedText,
  base: Memory | null | undefined,
): Promise<TextAnswer> {
  const { named, write } = await material.transcript(base);
  const task = material.task(base);
  const request = textRequest(terms, conversation, ports, baseEnd(task));
  const waitMs = turnUntil(late);
  // No request waits for this one, so it may be tried for longer.
  const { withinMs: _, ...patient } = task.retries;
  const own = waitMs > 0 ? task : { ...task, retries: patient };
  const sent = await materialOf(own, named, ports, compaction);
  const limitMs = waitMs > 0 ? TIME_LIMITS.idleCallMs : TIME_LIMITS.objectCallMs;
  const asking = ask(conversation, (stub) => stub.text(request, sent, waitMs), limitMs);
  // A view checks the transcript before it names it, so nothing waits for it here.
  const [answer] = await Promise.all([asking, waitMs > 0 ? write() : undefined]);
  if (waitMs === 0 && answer.state === 'pending') await write();
  return awaited(request, conversation, late, answer);
}

/** @param from see `TextRequest` */
export function textRequest(
  terms: TextTerms,
  { label }: StoredConversation,
  { since }: Pick<SummaryPorts, 'since'>,
  from = 0,
): TextRequest {
  return { ...terms, order: crypto.randomUUID(), since, conversation: label, from };
}

/** The end that a stored base must reach, or 0 if the task contains its own base. */
function baseEnd({ from, prior }: SummaryTask): number {
  return prior && prior.end >= from ? 0 : from;
}

async function materialOf(
  task: SummaryTask,
  transcript: Transcript,
  { target, payer: payerOf, encoding, publication }: SummaryPorts,
  compaction: CompactionCall | undefined,
): Promise<VersionMaterial> {
  const publishTo = await publication();
  const payer = await payerOf();
  return { of: 'version', task, target, payer, encoding, transcript, compaction, publishTo };
}
