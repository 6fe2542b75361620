/** A request to a model, independent of its wire format. */
import { bufferOf } from '../lib/bytes.ts';
import { asObject, isObject } from '../lib/json.ts';
import type { Message } from '../memory/conversation/message.ts';
import { leastCachedPrompt } from '../memory/models/prompt-caches.ts';
import { canBear, type View } from '../memory/plan/view.ts';
import type { Tools } from '../memory/tokens/tokens.ts';
import type { OwnField } from './body.ts';
import { type CacheMarks, latestMarks, marksIn, NO_EDITS, OPENAI_MARKS } from './edits.ts';
import type { JsonSpan, Outline } from './json/outline.ts';
import { fieldOf, jsonOf, type Member, type Splice, textOf, topField } from './json/spans.ts';
import { KeptContents } from './kept-contents.ts';
import type { ReadArray } from './known-array.ts';
import { isFarFromBefore, isTooShort, movingPlaces } from './moving-marks.ts';
import type { Protocol } from './protocol.ts';
import { findStoredName, type Opened, type StoredName } from './stored-names.ts';
import { leavesOurs } from './tool-choice.ts';
import { type FunctionTool, readTools } from './tools.ts';
import type { KnownStart } from './written-bodies.ts';

/** A message in the caller's bytes. */
export interface WireMessage extends Message {
  /** The role in the message itself. */
  readonly wireRole: string | undefined;
  /** How many parts it has, as a prompt cache counts them. */
  readonly parts: number;
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

/**
 * A body with more messages, items or tools is forwarded without edits (docs/operating.md#limits).
 */
export const MOST_MESSAGES = 20_000;

/**
 * What to keep of a body: its conversation, and the number of elements in other lists.
 *
 * @param element what to keep of each message or item
 */
export function bodyOutline(
  conversation: ModelRequest['conversationField'],
  element: Outline,
  ...lists: readonly string[]
): ReadonlyMap<string, Outline> {
  const most = MOST_MESSAGES;
  const others = lists.map((name) => [name, { items: {}, most }] as const);
  return new Map<string, Outline>([[conversation, { items: element, most, counted: true }], ...others]);
}

const CACHE_KEY = 'prompt_cache_key';

/** A body, which a protocol reads and writes: what all have in common, and what each says. */
export abstract class ModelRequest {
  /** The body unchanged. */
  readonly bytes: Uint8Array;
  readonly root: JsonSpan;
  abstract readonly protocol: Protocol;
  /** The field that holds the conversation. */
  abstract readonly conversationField: 'messages' | 'input';
  /** Empty if there are too many. */
  abstract readonly messages: readonly WireMessage[];
  /** Whether there are more than `MOST_MESSAGES`. */
  abstract readonly tooManyMessages: boolean;
  readonly model: string | undefined;
  readonly tools: Tools | undefined;
  /** The caller's limit of the answer in tokens; 0 without one. */
  abstract readonly answerTokens: number;
  /** The field that refers to a conversation stored upstream. No view can be made then. */
  readonly upstreamState: string | undefined = undefined;
  /** Whether upstreams of this protocol can compact. */
  readonly hasCompaction: boolean = false;
  protected readonly kept = new KeptContents();

  /** @param toolFields the fields that list tools */
  constructor(bytes: Uint8Array, root: JsonSpan, toolFields: readonly string[]) {
    this.bytes = bytes;
    this.root = root;
    const model = this.field('model');
    this.model = typeof model === 'string' ? model : undefined;
    this.tools = readTools(bytes, root, toolFields, MOST_MESSAGES);
  }

  /** The array that was read; undefined if there is none, or more than `MOST_MESSAGES`. */
  abstract get array(): ReadArray | undefined;

  /** The first message, if it has a field of its own and could be in the array. */
  get instructions(): WireMessage | undefined {
    return undefined;
  }

  /** Whether its API refuses a turn in progress that does not begin with thinking. */
  get beginsThinking(): boolean {
    return false;
  }

  /** Names of the caller's tools, which Precis's must not repeat. */
  abstract get toolNames(): ReadonlySet<string>;

  get cacheMarks(): CacheMarks {
    return OPENAI_MARKS;
  }

  /** Whether more has come since the request before than a cache looks back from the end. */
  get isFarFromBefore(): boolean {
    return isFarFromBefore(this.messages);
  }

  /** The compaction that the request asks of the upstream; undefined without one. */
  get compaction(): { readonly threshold: number | undefined } | undefined {
    return undefined;
  }

  /** Whether the request asks for nothing but a compaction. */
  get isCompaction(): boolean {
    return false;
  }

  /** Undefined where the API has none, or the request rules it out. */
  get ownCompaction(): OwnCompaction | undefined {
    return undefined;
  }

  /**
   * Preamble messages that replace earlier parts of the conversation and can't be read here, such
   * as the upstream's own compactions.
   */
  get compacted(): readonly WireMessage[] {
    return [];
  }

  /**
   * Whether the caller asks for the model's reasoning in a form that can be sent back. True if the
   * protocol has no other form.
   */
  get asksReasoning(): boolean {
    return true;
  }

  /** Whether its answer is a stream whose usage the caller does not ask for. */
  get hidesUsage(): boolean {
    return false;
  }

  /** Whether our tools can be added, which makes one answer of several. */
  abstract get takesTools(): boolean;

  /** The JSON of one of our tools in this protocol. */
  abstract toolJson(tool: FunctionTool): string;

  /**
   * The body for the upstream: own fields and marks cut out, and the view in place of the messages.
   *
   * @param kept see `spliceBody`
   */
  abstract write(view: View | undefined, additions?: Additions, kept?: KnownStart): Uint8Array;

  /** The field with the conversation in the body of a view, as JSON; undefined without one. */
  writtenArray(view: View | undefined): Uint8Array | undefined {
    const body = this.write(view);
    const span = topField(body, this.conversationField);
    return span && body.subarray(span.start, span.end);
  }

  /** Lets go of decoded contents, and keeps none of those that are decoded later. */
  forgetContents(): void {
    this.kept.close();
  }

  /** Keeps decoded contents again, since the request has come again. */
  keepContents(): void {
    this.kept.open();
  }

  /** Whether the answer must have a form, such as JSON, that several texts in a row have not. */
  get asksForm(): boolean {
    const { type = 'text' } = asObject(this.answerForm);
    return type !== 'text';
  }

  /** What the request says of the form of the answer's text. */
  protected abstract get answerForm(): unknown;
  /** See `RequestSettings`. */
  protected abstract get effort(): unknown;
  protected abstract get verbosity(): unknown;

  /** See `RequestSettings`. */
  protected get user(): unknown {
    return [this.field('safety_identifier'), this.field('user')];
  }

  /** Decoded on each call. */
  get settings(): RequestSettings {
    const { effort, user } = this;
    return { effort, user, format: [this.answerForm, this.verbosity], key: this.field(CACHE_KEY) };
  }

  /** Whether the caller gives the model tools. */
  get hasTools(): boolean {
    const tools = fieldOf(this.root, 'tools');
    return tools?.kind === 'array' && tools.items?.length !== 0;
  }

  /** Whether the model may call our tools at this request, as far as the caller chooses. */
  get leavesOurs(): boolean {
    return leavesOurs(this.field('tool_choice'));
  }

  /**
   * Finds a reference to something that the upstream has stored.
   *
   * @param opened kinds that are allowed
   */
  storedName(opened: Opened): StoredName | undefined {
    return findStoredName(this.bytes, this.root, this.protocol, opened);
  }

  /** A prompt cache key of the caller's alone, if others share the account and none is added. */
  cacheKey({ shared, cacheKey }: Pick<Additions, 'shared' | 'cacheKey'>): Member[] {
    if (!shared || cacheKey !== undefined) return [];
    const key = this.field(CACHE_KEY);
    const own = shared.cacheKey(typeof key === 'string' ? key : undefined);
    return own === undefined ? [] : [{ key: CACHE_KEY, json: JSON.stringify(own) }];
  }

  /**
   * Puts a prompt cache key into a body that has none. It is first, so that a longer array still
   * begins with the bytes of the request before.
   */
  keySplices({ cacheKey }: Pick<Additions, 'cacheKey'>): Splice[] {
    const at = this.root.start + 1;
    if (cacheKey === undefined || fieldOf(this.root, CACHE_KEY)) return [];
    return [{ start: at, end: at, with: `"${CACHE_KEY}":${JSON.stringify(cacheKey)},` }];
  }

  /** How many marks the body has, or texts that look like one; exact below the most. */
  get marks(): number {
    return marksIn(this.bytes, this.cacheMarks.most, this.cacheMarks.field);
  }

  /**
   * The last message with a mark of the caller's, or the last of all where one at the top moves
   * along. −1 if tools alone have one; undefined without any.
   */
  get markedUntil(): number | undefined {
    if (this.marks === 0) return undefined;
    const { field } = this.cacheMarks;
    if (isObject(this.field(field))) return this.messages.length - 1;
    const mark = new RegExp(`"${field}"\\s*:\\s*\\{`);
    const isMarked = (json: Uint8Array): boolean =>
      marksIn(json, 1, field) > 0 && mark.test(bufferOf(json).toString('latin1'));
    const last = this.messages.findLastIndex(({ json }) => isMarked(json));
    return last >= 0 || mark.test(bufferOf(this.bytes).toString('latin1')) ? last : undefined;
  }

  /**
   * The messages that get one of Precis's marks: those that move along, the one after the
   * instructions where the caller sets none, and as many of the view's as have room.
   *
   * @param most marks
   */
  markedMessages(view: View | undefined, most: number, moves: boolean): readonly number[] {
    const { messages, model, bytes } = this;
    const { areCallers } = this.cacheMarks;
    const least = areCallers ? leastCachedPrompt(model) : 0;
    if (!moves || most === 0 || isTooShort(bytes.length, least)) return latestMarks(view, most);
    const bears = (message: WireMessage, index: number): boolean => canBear(message, index, view ?? NO_EDITS);
    const moving = movingPlaces({ messages, bears, endsUnmarked: !areCallers });
    const begin = messages.findIndex(({ role }) => role !== 'preamble') - 1;
    const marksBegin = areCallers && begin >= 0 && this.markedUntil === undefined;
    const ours = [...(marksBegin ? [begin] : []), ...moving].slice(-most);
    return [...ours, ...latestMarks(view, most - ours.length)];
  }

  /** The value of one of Precis' own fields; undefined if it is absent or null. */
  own(field: OwnField): unknown {
    return this.field(field) ?? undefined;
  }

  field(key: string): unknown {
    const span = fieldOf(this.root, key);
    return span ? jsonOf(this.bytes, span) : undefined;
  }

  /** The caller's tools; empty if the list is too long to be read. */
  protected listedTools(): readonly unknown[] {
    const list = fieldOf(this.root, 'tools');
    return list?.items ? (jsonOf(this.bytes, list) as unknown[]) : [];
  }

  /** A field's value; undefined if it is absent or null. */
  protected given(key: string): JsonSpan | undefined {
    const value = fieldOf(this.root, key);
    return value?.kind === 'literal' && textOf(this.bytes, value) === 'null' ? undefined : value;
  }

  /** A limit in tokens; undefined if the field is not a number above 0. */
  protected limit(key: string): number | undefined {
    const value = this.field(key);
    return typeof value === 'number' && value > 0 ? value : undefined;
  }
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
