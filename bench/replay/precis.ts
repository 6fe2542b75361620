/** Precis as a policy: planned and rendered as for a request. Every ref counts as written. */

import { DIGEST_TOKENS } from '../../src/memory/edits/output-digest.ts';
import { createPreviewWriter } from '../../src/memory/edits/preview.ts';
import type { Removal } from '../../src/memory/edits/removal.ts';
import { contentOf } from '../../src/memory/edits/removed-content.ts';
import type { ModelTerms } from '../../src/memory/models/terms.ts';
import type { EditingStrategy } from '../../src/memory/modes/table.ts';
import type { Plan } from '../../src/memory/plan/plan.ts';
import { type View as RenderedView, render } from '../../src/memory/plan/view.ts';
import { textsOf } from '../../src/memory/run/near-use.ts';
import { type Tools, toolTokens } from '../../src/memory/tokens/tokens.ts';
import type { ChatRequest } from '../../src/protocol/chat/request.ts';
import { recapMessages, replacedBySummary, summaryMessages } from '../../src/protocol/chat/summary.ts';
import { toolsWith } from '../../src/protocol/tools.ts';
import { trimmedTranscript } from '../../src/summary/text/trimmed-transcript.ts';
import { sha256Hex } from '../../src/tenant/identity.ts';
import { offerTools } from '../../src/view/offer-tools.ts';
import type { Isolate } from '../pipeline.ts';
import { requestOf } from '../reuse.ts';
import { planOf, type RollUp, rollUp, textsUnder } from '../roll-up.ts';
import { type Conversation, requestOfOne, type SentMessage } from './conversation.ts';
import type { Policy, Replay, View } from './policy.ts';

/** Tokens of a digest, without its label. */
const STAND_IN_TOKENS = DIGEST_TOKENS - 10;

/** Tokens of a summarizer's instructions. */
const PROMPT_TOKENS = 600;

/**
 * @param retrieval whether a model with tools can fetch refs
 * @param returns the arrays, by length, that are sent when the cache is cold
 */
export function precis(
  name: string,
  strategy: EditingStrategy,
  retrieval: boolean,
  isolate: Isolate,
  terms: ModelTerms,
  returns: ReadonlySet<number> = new Set(),
): Policy {
  return {
    name,
    maker: 'precis',
    start: (conversation) => new PrecisReplay(conversation, strategy, retrieval, isolate, terms, returns),
  };
}

class PrecisReplay implements Replay {
  private readonly conversation: Conversation;
  private readonly strategy: EditingStrategy;
  private readonly retrieval: boolean;
  /** The caller's, and those with which the model fetches. */
  private readonly tools: Tools | undefined;
  /** Tokens of the latter. */
  private readonly addedTools: number;
  private readonly isolate: Isolate;
  private readonly terms: ModelTerms;
  private readonly returns: ReadonlySet<number>;
  /** See `PlanRequest`. */
  private readonly cold: number[] = [];
  private readonly removed = new Map<string, () => string>();
  private readonly fetched = new Map<string, string>();
  private readonly transcripts = new Map<string, string>();
  /** Edited messages, by index and edit. */
  private readonly edited = new Map<string, SentMessage>();
  /** The digests of large outputs, by message. */
  private readonly digests = new Map<number, string>();
  private rolled: RollUp | undefined;
  private rollUps = 0;
  private compared = false;

  constructor(
    conversation: Conversation,
    strategy: EditingStrategy,
    retrieval: boolean,
    isolate: Isolate,
    terms: ModelTerms,
    returns: ReadonlySet<number>,
  ) {
    this.conversation = conversation;
    this.strategy = strategy;
    this.retrieval = retrieval && conversation.request.tools !== undefined;
    this.isolate = isolate;
    const { tools } = conversation.request;
    const definitions = this.retrieval ? fetchingTools(conversation.request, strategy, isolate) : [];
    this.tools = definitions.length > 0 ? toolsWith(tools, definitions) : tools;
    this.addedTools = toolTokens(this.tools, isolate.counter) - toolTokens(tools, isolate.counter);
    this.terms = terms;
    this.returns = returns;
  }

  view(count: number): View {
    const { isolate, conversation } = this;
    const { points } = conversation;
    const planned = this.plan(count);
    const { history } = planned;
    const summaries = this.summarize(planned) + this.digest(planned);
    const trimmed =
      planned.trimmed &&
      trimmedTranscript(history, planned.trimmed, isolate.tenant, undefined, isolate.counter);
    for (const { ref, text } of trimmed?.segments ?? []) this.transcripts.set(ref, text());
    const digestOf = ({ message }: Removal): string | undefined => this.digests.get(message);
    const words = { isWritten: () => true, digestOf, summary: this.rolled, line: trimmed?.shown };
    const rendered = render(planned, words, isolate.counter);
    const { messages, marks } = this.messagesOf(rendered, count);
    // Check that splicing message by message gives the real body: at the first edit and at the last
    // request.
    const edits = rendered.removals.size > 0 || rendered.dropped.size > 0;
    if ((edits && !this.compared) || count === points.at(-1)) this.compare(messages, rendered, count);
    this.compared ||= edits;
    // A rehydrated output has a ref, too, though its message may never have been seen edited.
    for (const removal of planned.segments.flat())
      if (removal.ref !== undefined)
        this.removed.set(removal.ref, () => contentOf(removal, planned.history.messages).text);
    const isColdMove = this.cold.at(-1) === count;
    const { addedTools, rollUps } = this;
    return { messages, marks, addedTools, counted: planned.replay.after, summaries, rollUps, isColdMove };
  }

  /** A move that waits at a return is made, as the conversation's object would note. */
  private plan(count: number): Plan {
    const { strategy, retrieval, isolate, conversation, terms, cold, returns } = this;
    const { messages, model } = conversation.request;
    const request = { messages, model, tools: this.tools };
    const plan = () => planOf(strategy, request, count, isolate, retrieval, terms, [...cold]);
    const planned = plan();
    if (!returns.has(count) || !planned.replay.waited.includes(count)) return planned;
    cold.push(count);
    return plan();
  }

  fetch(ref: string): readonly string[] {
    const content = this.removed.get(ref);
    if (!content) return this.isolate.tenant.refs.owns(ref) ? textsUnder(ref, this.transcripts) : [];
    const text = this.fetched.get(ref) ?? textsOf(content());
    this.fetched.set(ref, text);
    return [text];
  }

  /** Makes the summary of a plan, if it is new. @returns its cost */
  private summarize(planned: Plan): number {
    const { prefix } = planned;
    const before = this.rolled;
    if (!prefix || prefix.end === before?.end) return 0;
    const { counter } = this.isolate;
    const rolled = rollUp(planned, before, this.isolate);
    this.rolled = rolled;
    this.rollUps++;
    this.transcripts.set(rolled.ref, rolled.transcript);
    // The summarizer reads placeholders where the model does.
    const removals = Map.groupBy(planned.segments.flat(), ({ message }) => message);
    let read = PROMPT_TOKENS + (before ? counter.text(before.written) : 0);
    for (let index = before?.end ?? 0; index < rolled.end; index++)
      if (planned.history.messages[index]?.role !== 'preamble')
        read += this.edit(index, removals.get(index) ?? []).tokens;
    return read + this.terms.prices.output * counter.text(rolled.written);
  }

  /**
   * Makes the digests of large outputs that are new. They replace a model's by the literals that
   * distinguish the output, as many as a digest may have tokens. @returns their cost
   */
  private digest({ newlyOffloaded, history, segments }: Plan): number {
    if (!newlyOffloaded) return 0;
    const { counter } = this.isolate;
    const writer = createPreviewWriter(history.messages, { ...this.isolate, digest: sha256Hex });
    let cost = 0;
    for (const removal of segments.flat()) {
      const { message, tokens, digest } = removal;
      if (!digest || !newlyOffloaded.has(message) || this.digests.has(message)) continue;
      const text = () => contentOf(removal, history.messages).text;
      const words = writer.write(message, text, STAND_IN_TOKENS).replaceAll('\n', ' ');
      this.digests.set(message, words);
      cost += PROMPT_TOKENS + tokens + this.terms.prices.output * counter.text(words);
    }
    return cost;
  }

  private messagesOf(
    view: RenderedView,
    count: number,
  ): { messages: readonly SentMessage[]; marks: readonly number[] } {
    const { removals, dropped, summary, trim, recap } = view;
    const messages: SentMessage[] = [];
    const marks: number[] = [];
    const replaced = replacedBySummary(view);
    const add = (json: string): void => {
      for (const message of JSON.parse(`[${json}]`))
        messages.push(this.conversation.sentBytes(JSON.stringify(message)));
    };
    for (let index = 0; index < count; index++) {
      if (summary && index === replaced) add(summaryMessages(summary, {}));
      if (dropped.has(index)) continue;
      const opening = {
        ...(summary?.request?.message === index
          ? { summary: { ...summary, request: { ...summary.request, message: 0 } } }
          : {}),
        ...(trim?.request?.message === index
          ? { trim: { ...trim, request: { ...trim.request, message: 0 } } }
          : {}),
      };
      messages.push(this.edit(index, removals.get(index) ?? [], opening));
      if (view.marks?.includes(index)) marks.push(messages.length - 1);
      if (recap && index === recap.after) add(recapMessages(recap, {}));
    }
    return { messages, marks };
  }

  /**
   * One of the caller's messages with its edits.
   *
   * @param opening the text at its beginning, as if it were the only message
   */
  private edit(
    index: number,
    removals: readonly Removal[],
    opening: Pick<RenderedView, 'summary' | 'trim'> = {},
  ): SentMessage {
    const own = this.conversation.messages[index];
    if (!own) throw new Error(`no message ${index} in this conversation`);
    const { summary, trim } = opening;
    if (removals.length === 0 && !summary && !trim) return own;
    const edits = removals.map(({ kind, call, replacement }) => `${kind} ${call} ${replacement}`);
    const key = [index, summary?.block ?? '', trim?.line ?? '', ...edits].join('\n');
    const known = this.edited.get(key);
    if (known) return known;
    const written = requestOfOne(own.bytes).write({
      removals: new Map([[0, removals]]),
      dropped: new Set(),
      ...opening,
      tokens: 0,
      incomplete: false,
    });
    const sent = this.conversation.sentBytes(onlyMessage(written));
    this.edited.set(key, sent);
    return sent;
  }

  private compare(messages: readonly SentMessage[], rendered: RenderedView, count: number): void {
    const body = requestOf(this.conversation.trace, count).write(rendered);
    const written = JSON.stringify(JSON.parse(new TextDecoder().decode(body)).messages);
    if (written !== JSON.stringify(messages.map(({ bytes }) => JSON.parse(bytes))))
      throw new Error(`the view of ${count} messages is not what would go up`);
  }
}

/** The definitions of the tools that a request gets, each as its JSON. */
function fetchingTools(
  request: ChatRequest,
  strategy: EditingStrategy,
  { tenant }: Isolate,
): readonly string[] {
  const offered = offerTools(request, strategy, tenant, 'words');
  return offered === 'off' || !offered ? [] : offered.definitions;
}

/** The message in a body from `requestOfOne`. */
function onlyMessage(body: Uint8Array): string {
  return new TextDecoder().decode(body).slice('{"messages":['.length, -']}'.length);
}
