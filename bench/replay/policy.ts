/** What a policy is: a way to choose what goes up. */
import type { ChatJson, Conversation, SentMessage } from './conversation.ts';

/** Whose it is: nobody's, Precis' own, or another's. */
export type Maker = 'none' | 'precis' | 'peer';

export interface Policy {
  readonly name: string;
  readonly maker: Maker;
  /** Begins the replay of a conversation. */
  start(conversation: Conversation): Replay;
}

/** The replay of a conversation under a policy. */
export interface Replay {
  /**
   * What goes up when the first `count` messages are sent. Asked for in the order of the requests.
   */
  view(count: number): View;
  /** What can be fetched by a ref that stands in a view: texts. Nothing without refs. */
  fetch(ref: string): readonly string[];
}

export interface View {
  readonly messages: readonly SentMessage[];
  /** What summaries that were made for this view have cost, in tokens of fresh input. */
  readonly summaries: number;
}

/** What a request's array weighs. */
export interface Weighed {
  /** Tokens of all messages, with tools. */
  readonly tokens: number;
}

/**
 * From the caller's messages to those that go up. Messages that stay as they are must stay the same
 * objects.
 */
export type Rewrite = (messages: readonly ChatJson[], weighed: Weighed) => readonly ChatJson[];

/** A policy that is a function of the array alone. */
export function rewriting(name: string, maker: Maker, rewrite: Rewrite): Policy {
  return {
    name,
    maker,
    start(conversation) {
      const { trace, overhead } = conversation;
      return {
        view(count) {
          const own = conversation.messages.slice(0, count);
          const tokens = own.reduce((sum, message) => sum + message.tokens, overhead);
          const rewritten = rewrite(trace.messages.slice(0, count), { tokens });
          return { messages: rewritten.map((message) => conversation.sent(message)), summaries: 0 };
        },
        fetch: () => [],
      };
    },
  };
}
