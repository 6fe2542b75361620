/** A request to a model, independent of its wire format. */
import type { Message } from '../memory/conversation/message.ts';
import type { View } from '../memory/plan/view.ts';
import type { Tools } from '../memory/tokens/tokens.ts';
import type { OwnField } from './body.ts';
import type { ReadArray } from './known-array.ts';
import type { Protocol } from './protocol.ts';
import type { Opened, StoredName } from './stored-names.ts';
import type { FunctionTool } from './tools.ts';
import type { KnownStart } from './written-bodies.ts';

/** A message in the caller's bytes. */
export interface WireMessage extends Message {
  /** The role in the message itself. */
  readonly wireRole: string | undefined;
  /** The message unchanged. If it consists of several items, they keep the commas between them. */
  readonly json: Uint8Array;
}

/** One of Precis's messages, which is inserted after the preamble. */
export interface InjectedMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

/** Keeps callers of a shared account apart. */
export interface SharedAccount {
  /** Whether the upstream may store what the body asks for, unless the body says otherwise. */
  readonly stores: boolean;
  /**
   * A prompt cache key that no other caller has.
   *
   * @param key the caller's
   * @returns undefined if the body gets none
   */
  cacheKey(key: string | undefined): string | undefined;
}

/** Marks of the upstream's prompt cache, as a protocol has them. */
export interface CacheMarks {
  /** The member of a part that is one. */
  readonly field: string;
  /** The value of Precis's, as JSON. */
  readonly json: string;
  /** The most in a body: the caller's and Precis's. */
  readonly most: number;
  /** Whether callers of models whose callers place marks set them in this form. */
  readonly areCallers: boolean;
  /** Matches an error about one. Servers word it differently. */
  readonly refusal: RegExp;
}

/** A part of a conversation that its API is to summarize. */
export interface CompactionRange {
  /** The messages that leave, ascending; at least one. */
  readonly messages: readonly number[];
  /** The summary of what has left before. `signed`: as the API has signed it. */
  readonly before?: { readonly text: string; readonly signed: string | undefined } | undefined;
  /** See `Additions`. */
  readonly tools?: readonly string[] | undefined;
}

/** How an API summarizes a part of a conversation on demand, and signs the summary. */
export interface OwnCompaction {
  /** A header, and the name to add to its list, in each request that has to do with it. */
  readonly beta: readonly [header: string, name: string];
  /** Below the upstream's base URL. */
  readonly path: string;
  /** The body that asks for it. */
  body(range: CompactionRange): Uint8Array;
}

/** What a request says about its answer that a cached prefix and bound reasoning follow from. */
export interface RequestSettings {
  readonly effort: unknown;
  /** Form and verbosity. */
  readonly format: unknown;
  /** The end user. */
  readonly user: unknown;
  /** The caller's key for the upstream's prompt cache. */
  readonly key: unknown;
}

/** What to add to a body with a view. */
export interface Additions {
  /** After the preamble, in this order. */
  readonly injected?: readonly InjectedMessage[];
  /** The most marks of Precis to write: of the view's marks, the latest ones. */
  readonly marks?: number;
  /** Whether one of them moves along with the end of the conversation. */
  readonly movesMark?: boolean;
  /** Whether marks of the caller leave with their blocks. Absent: they move to the replacement. */
  readonly losesMarks?: boolean;
  /** Precis's tools, each as its JSON. */
  readonly tools?: readonly string[] | undefined;
  /** Set if callers share the upstream's account: the upstream must store nothing then. */
  readonly shared?: SharedAccount | undefined;
  /** Whether `ModelRequest.instructions` are in the array, as its first message. */
  readonly movesInstructions?: boolean;
  /** A prompt cache key, for a body that has none. */
  readonly cacheKey?: string | undefined;
  /**
   * The answer with whose request the upstream is to compare this one, to say why its cache was
   * missed. Empty: none is known. Absent: nobody asks.
   */
  readonly comparedWith?: string | undefined;
  /** Whether to ask for the model's reasoning in encrypted form, if the caller does not. */
  readonly reasoning?: boolean;
  /** Whether to ask for the usage of a stream, which an upstream may report on demand alone. */
  readonly usage?: boolean;
  /**
   * The entry that asks the upstream for a compaction: `cut` removes the caller's, an object adds
   * one. Absent: as the caller sent it.
   */
  readonly compaction?: 'cut' | { readonly threshold: number | undefined } | undefined;
  /** The messages before this one are written without their thinking. */
  readonly thinkingFrom?: number;
}

export interface ModelRequest {
  /** The body unchanged. */
  readonly bytes: Uint8Array;
  readonly protocol: Protocol;
  /** The field that holds the conversation. */
  readonly conversationField: 'messages' | 'input';
  /** Empty if there are too many. */
  readonly messages: readonly WireMessage[];
  /** The array that was read; undefined if there is none, or more than `MOST_MESSAGES`. */
  readonly array: ReadArray | undefined;
  /** Whether there are more than `MOST_MESSAGES`. */
  readonly tooManyMessages: boolean;
  /** The first message, if it has a field of its own and could be in the array. */
  readonly instructions?: WireMessage | undefined;
  readonly model: string | undefined;
  readonly tools: Tools | undefined;
  /** The caller's limit of the answer in tokens; 0 without one. */
  readonly answerTokens: number;
  /** Whether its API refuses a turn in progress that does not begin with thinking. */
  readonly beginsThinking?: boolean;
  /** The field that refers to a conversation stored upstream. No view can be made then. */
  readonly upstreamState: string | undefined;
  /** Names of the caller's tools, which Precis's must not repeat. */
  readonly toolNames: ReadonlySet<string>;
  readonly cacheMarks: CacheMarks;
  /** How many marks the body has, or texts that look like one; exact below the most. */
  readonly marks: number;
  /**
   * The last message with a mark of the caller's, or the last of all where one at the top moves
   * along. −1 if tools alone have one; undefined without any.
   */
  readonly markedUntil: number | undefined;
  /** Decoded on each call. */
  readonly settings: RequestSettings;
  /** Whether more has come since the request before than a cache looks back from the end. */
  readonly isFarFromBefore: boolean;
  /** Whether the caller gives the model tools. */
  readonly hasTools: boolean;
  /** The compaction that the request asks of the upstream; undefined without one. */
  readonly compaction: { readonly threshold: number | undefined } | undefined;
  /** Whether upstreams of this protocol can compact. */
  readonly hasCompaction: boolean;
  /** Whether the request asks for nothing but a compaction. */
  readonly isCompaction: boolean;
  /** Undefined where the API has none, or the request rules it out. */
  readonly ownCompaction?: OwnCompaction | undefined;
  /**
   * Preamble messages that replace earlier parts of the conversation and can't be read here, such
   * as the upstream's own compactions.
   */
  readonly compacted: readonly WireMessage[];
  /**
   * Whether the caller asks for the model's reasoning in a form that can be sent back. True if the
   * protocol has no other form.
   */
  readonly asksReasoning: boolean;
  /** Whether the answer must have a form, such as JSON, that several texts in a row have not. */
  readonly asksForm: boolean;
  /** Whether its answer is a stream whose usage the caller does not ask for. */
  readonly hidesUsage: boolean;
  /** Whether our tools can be added, which makes one answer of several. */
  readonly takesTools: boolean;
  /** Whether the model may call our tools at this request, as far as the caller chooses. */
  readonly leavesOurs: boolean;
  /**
   * Finds a reference to something that the upstream has stored.
   *
   * @param opened kinds that are allowed
   */
  storedName(opened: Opened): StoredName | undefined;
  /** The value of one of Precis' own fields; undefined if it is absent or null. */
  own(field: OwnField): unknown;
  /** The value of any other top-level field. */
  field(key: string): unknown;
  /** The JSON of one of our tools in this protocol. */
  toolJson(tool: FunctionTool): string;
  /**
   * The body for the upstream: own fields and marks cut out, and the view in place of the messages.
   *
   * @param kept see `spliceBody`
   */
  write(view: View | undefined, additions?: Additions, kept?: KnownStart): Uint8Array;
  /** Lets go of decoded contents, and keeps none of those that are decoded later. */
  forgetContents(): void;
  /** Keeps decoded contents again, since the request has come again. */
  keepContents(): void;
}

/** Precis's messages as JSON, to be put into a list. */
export function injectedJson(injected: readonly InjectedMessage[]): string {
  return injected.map(({ role, content }) => JSON.stringify({ role, content })).join(',');
}

/** A view in two parts: the leading preamble, and everything else. Each message is JSON. */
export interface ViewParts {
  readonly preamble: readonly string[];
  readonly others: readonly string[];
}

export function splitPreamble(messages: readonly WireMessage[]): ViewParts {
  const afterPreamble = messages.findIndex(({ role }) => role !== 'preamble');
  const first = afterPreamble < 0 ? messages.length : afterPreamble;
  const texts = messages.map(({ json }) => new TextDecoder().decode(json));
  return { preamble: texts.slice(0, first), others: texts.slice(first) };
}
