/**
 * A vendor's own compaction, as OpenAI describes it
 * (https://developers.openai.com/api/docs/guides/compaction, read 2026-11): when a request exceeds
 * the threshold, the server writes one opaque item in place of all that came before, and answers
 * from that. What the item holds is not published, nor its size. Here it has a share of the tokens
 * that it replaces, and shows nothing. Leading instructions stay.
 */
import type { RelativePrices } from '../../src/memory/models/schedules.ts';
import { type Conversation, SentMessage } from './conversation.ts';
import type { Policy, Replay, View } from './policy.ts';

/** Of what it replaces: an example of a gateway's page (TrueFoundry) has 1,200 of 15,000 tokens. */
export const ITEM_SHARE = 0.08;

/** @param threshold in tokens of a request */
export function native(name: string, threshold: number, prices: RelativePrices, share = ITEM_SHARE): Policy {
  return {
    name,
    maker: 'peer',
    start: (conversation) => new NativeReplay(conversation, threshold, prices, share),
  };
}

class NativeReplay implements Replay {
  private readonly conversation: Conversation;
  private readonly threshold: number;
  private readonly prices: RelativePrices;
  private readonly share: number;
  private readonly preamble: readonly SentMessage[];
  /** What replaces the messages before `from`. */
  private item: readonly SentMessage[] = [];
  private from: number;
  private before: readonly SentMessage[] = [];

  constructor(conversation: Conversation, threshold: number, prices: RelativePrices, share: number) {
    this.conversation = conversation;
    this.threshold = threshold;
    this.prices = prices;
    this.share = share;
    const { messages } = conversation.trace;
    this.from = Math.max(
      0,
      messages.findIndex(({ role }) => role !== 'system' && role !== 'developer'),
    );
    this.preamble = conversation.messages.slice(0, this.from);
  }

  view(count: number): View {
    const { overhead, messages } = this.conversation;
    const grown = [...this.preamble, ...this.item, ...messages.slice(this.from, count)];
    const tokens = overhead + tokensOf(grown);
    if (tokens <= this.threshold) return this.sent(grown, 0);
    const replaced = tokensOf(grown) - tokensOf(this.preamble);
    const size = Math.ceil(this.share * replaced);
    this.item = [new SentMessage(JSON.stringify({ role: 'assistant', content: `#${count}` }), size)];
    this.from = count;
    // It is read once more to be compacted. What the request before had is cached.
    const { cached, written, output } = this.prices;
    const known = this.before.length > 0 ? overhead + tokensOf(this.before) : 0;
    const cost = cached * known + written * (tokens - known) + output * size;
    return { ...this.sent([...this.preamble, ...this.item], cost), carriesReasoning: true };
  }

  fetch(): readonly string[] {
    return [];
  }

  private sent(messages: readonly SentMessage[], summaries: number): View {
    this.before = messages;
    return { messages, summaries };
  }
}

function tokensOf(messages: readonly SentMessage[]): number {
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}
