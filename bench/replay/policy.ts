/** Policies: ways to choose what is sent. */
import type { ChatJson, Conversation, SentMessage } from './conversation.ts';

/** Who made it: nobody, Precis, or another tool. */
export type Maker = 'none' | 'precis' | 'peer';

export interface Policy {
  readonly name: string;
  readonly maker: Maker;
  /** Begins the replay of a conversation. */
  start(conversation: Conversation): Replay;
}

/** The replay of a conversation under a policy. */
export interface Replay {
  /** What is sent for the first `count` messages. Called in the order of the requests. */
  view(count: number): View | Promise<View>;
  /**
   * The texts that a ref in a view can fetch; empty without refs. Each links to the next one, which
   * has to be fetched after it.
   */
  fetch(ref: string): readonly string[];
}

export interface View {
  readonly messages: readonly SentMessage[];
  /** Indices of the messages after which a cache gets a mark. */
  readonly marks?: readonly number[];
  /** Tokens of the tools that the policy adds to the caller's. */
  readonly addedTools?: number;
  /** All tokens as the policy counts them. Absent: as they are sent. */
  readonly counted?: number;
  /** Cost of summaries made for this view, in tokens of fresh input. */
  readonly summaries: number;
  /** Whether it has a move that was made since the cache is cold. */
  readonly isColdMove?: boolean;
  /** Whether a vendor's compaction has replaced what came before, which carries its reasoning. */
  readonly carriesReasoning?: boolean;
  /** How many summaries were made up to here, one on top of the other. */
  readonly rollUps?: number;
}

/** The token count of a request's array. */
export interface Weighed {
  /** Tokens of all messages, with tools. */
  readonly tokens: number;
  /** Tokens of a message, of the caller's or another. */
  count(message: ChatJson): number;
}

/**
 * Maps the caller's messages to those that are sent. Unchanged messages should stay the same
 * objects: they are known then.
 */
export type Rewrite = (
  messages: readonly ChatJson[],
  weighed: Weighed,
) => readonly ChatJson[] | Promise<readonly ChatJson[]>;

/** A policy that is a function of the array alone. */
export function rewriting(name: string, maker: Maker, rewrite: Rewrite): Policy {
  return {
    name,
    maker,
    start(conversation) {
      const { trace, overhead } = conversation;
      return {
        async view(count) {
          const own = conversation.messages.slice(0, count);
          const tokens = own.reduce((sum, message) => sum + message.tokens, overhead);
          const tokensOf = (message: ChatJson): number => conversation.sent(message).tokens;
          const rewritten = await rewrite(trace.messages.slice(0, count), { tokens, count: tokensOf });
          return { messages: rewritten.map((message) => conversation.sent(message)), summaries: 0 };
        },
        fetch: () => [],
      };
    },
  };
}
