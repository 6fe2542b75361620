/**
 * The Messages API: reads a body into messages and writes a view back
 * (https://platform.claude.com/docs/en/api/messages/create).
 *
 * As for chat, reading keeps spans and writing splices them, so unedited parts are sent as the
 * bytes that came. Fields that are not read pass: `thinking`, `context_management`, `container` and
 * all others.
 */
import { bufferOf } from '../../lib/bytes.ts';
import { asObject } from '../../lib/json.ts';
import type { Result } from '../../lib/result.ts';
import type { View } from '../../memory/plan/view.ts';
import { type BodyFault, invalidMessages, isOwnField, scanBody } from '../body.ts';
import { type CacheMarks, latestMarks, marksIn, NO_EDITS } from '../edits.ts';
import { type JsonSpan, type Outline, only } from '../json/outline.ts';
import {
  type Edits,
  fieldOf,
  type Member,
  memberSplices,
  type Splice,
  textOf,
  wrapSplices,
} from '../json/spans.ts';
import { KnownMessages, type ReadArray, type SharedArray } from '../known-array.ts';
import { loadingOf } from '../loaded-tools.ts';
import {
  type Additions,
  bodyOutline,
  type InjectedMessage,
  injectedJson,
  MOST_MESSAGES,
  ModelRequest,
  type OwnCompaction,
  type ViewParts,
  type WireMessage,
} from '../model-request.ts';
import { addTools, type FunctionTool } from '../tools.ts';
import { type KnownStart, spliceBody } from '../written-bodies.ts';
import { BLOCK_FIELDS, isBlankString, MARK_FIELD, MESSAGES_MARKS } from './block.ts';
import { markedUntil, marksFor, takesMark, type WrittenMarks } from './cache-marks.ts';
import { ownCompaction } from './compaction.ts';
import { Element, type ElementFacts } from './element.ts';
import { layoutOf } from './layout.ts';
import { type BlockFacts, ElementMessage, messagesOf } from './message.ts';
import { SystemEntry, saidValue } from './system-entry.ts';
import { lastThreshold, readAfter } from './threshold.ts';
import { viewSplices } from './view-splices.ts';

const MESSAGE: Outline = {
  fields: new Map<string, Outline>([
    ['role', {}],
    ['content', { items: only(BLOCK_FIELDS), most: MOST_MESSAGES }],
  ]),
};

const OUTLINE = bodyOutline('messages', MESSAGE, 'system', 'tools');

/**
 * A message thread, whose earlier messages the API has stored
 * (https://platform.claude.com/docs/en/build-with-claude/message-threads).
 */
const THREAD = 'thread';
/** https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics */
const DIAGNOSTICS = 'diagnostics';

/** A body of `POST /v1/messages`. */
export class MessagesRequest extends ModelRequest {
  readonly protocol = 'messages';
  readonly conversationField = 'messages';
  /** The entries of `system`, then the entries of `messages`. */
  readonly messages: readonly (SystemEntry | ElementMessage)[];
  readonly tooManyMessages: boolean;
  readonly answerTokens: number;
  override readonly upstreamState: typeof THREAD | undefined;
  private readonly list: JsonSpan;
  private readonly elements: readonly Element[];
  private readonly before: readonly SystemEntry[];
  /** Its marks. */
  private counted: number | undefined;
  private namesCompaction: boolean | undefined;

  /** @param list the span of `messages`: an array */
  constructor(bytes: Uint8Array, root: JsonSpan, list: JsonSpan, shared: SharedArray | undefined) {
    super(bytes, root, ['tools']);
    const system = this.given('system');
    const entries = system?.kind === 'string' ? [system] : (system?.items ?? []);
    const before = entries.map((entry) => saidValue(bytes, entry));
    const known = new KnownMessages<BlockFacts, ElementFacts>(shared, before);
    this.before = before.map((value, at) => new SystemEntry(value, known.before(at)));
    const elements = (list.items ?? []).map((span, at) => new Element(bytes, span, known.element(at)));
    const isTooMany = elements.some(({ hasTooManyBlocks }) => hasTooManyBlocks);
    const needs = loadingOf(() => this.listedTools());
    const conversation = isTooMany ? undefined : messagesOf(elements, known, this.kept, needs);
    const isRead =
      list.items !== undefined && conversation !== undefined && conversation.length <= MOST_MESSAGES;
    this.list = list;
    this.tooManyMessages = !isRead;
    this.elements = isRead ? elements : [];
    this.messages = isRead ? [...this.before, ...conversation] : [];
    this.answerTokens = this.limit('max_tokens') ?? 0;
    this.upstreamState = this.given(THREAD) && THREAD;
  }

  override get cacheMarks(): CacheMarks {
    return MESSAGES_MARKS;
  }

  /** So with a budget of thinking, and not where the model decides how much it thinks. */
  override get beginsThinking(): boolean {
    return asObject(this.field('thinking')).type === 'enabled';
  }

  /** Whether it asks for the API's compaction, which must read all of it. */
  override get isCompaction(): boolean {
    return this.given('compaction') !== undefined;
  }

  override get ownCompaction(): OwnCompaction | undefined {
    return ownCompaction(this);
  }

  /** The API's own summary, which begins the conversation. */
  override get compacted(): readonly WireMessage[] {
    if (!this.mayHaveCompactions) return [];
    return this.messages.filter(
      (message) =>
        message instanceof ElementMessage && message.blocks?.some(({ type }) => type === 'compaction'),
    );
  }

  /** Searches the body once. */
  private get mayHaveCompactions(): boolean {
    this.namesCompaction ??= bufferOf(this.bytes).includes('"compaction"');
    return this.namesCompaction;
  }

  get array(): ReadArray | undefined {
    if (this.tooManyMessages) return undefined;
    const messages = this.messages.flatMap((message) =>
      message instanceof ElementMessage ? [{ first: message.place, length: 1, facts: message.facts }] : [],
    );
    const { bytes, list, before } = this;
    const elements = this.elements.map(({ facts }) => facts);
    return { protocol: 'messages', bytes, list, before, elements, messages };
  }

  /** Also the names of the API's own tools, which are fixed. */
  get toolNames(): ReadonlySet<string> {
    const names = this.listedTools().map((tool) => asObject(tool).name);
    return new Set(names.filter((name) => typeof name === 'string'));
  }

  /** Of structured outputs; the second is the field of their beta. */
  protected get answerForm(): unknown {
    return asObject(this.field('output_config')).format ?? this.field('output_format');
  }

  protected get effort(): unknown {
    return [this.field('thinking'), asObject(this.field('output_config')).effort];
  }

  protected get verbosity(): undefined {
    return undefined;
  }

  protected override get user(): unknown {
    return asObject(this.field('metadata')).user_id;
  }

  /**
   * Whatever `tool_choice` says, since it may change from request to request: a tool that comes
   * later invalidates all thinking before it.
   */
  get takesTools(): boolean {
    return (this.given('tools')?.kind ?? 'array') === 'array';
  }

  toolJson({ function: { name, description, parameters } }: FunctionTool): string {
    return JSON.stringify({ name, description, input_schema: parameters });
  }

  override get marks(): number {
    this.counted ??= this.tooManyMessages ? super.marks : this.countMarks();
    return this.counted;
  }

  override get markedUntil(): number | undefined {
    return markedUntil(this);
  }

  /** Marks of known elements are not counted again. */
  private countMarks(): number {
    const { most, field } = this.cacheMarks;
    const { start, end } = this.list;
    const around = [this.bytes.subarray(0, start), this.bytes.subarray(end)];
    const outside = around.reduce((sum, bytes) => sum + marksIn(bytes, most, field), 0);
    return this.elements.reduce((sum, { marks }) => sum + marks, outside);
  }

  /** The API has no such key. */
  override cacheKey(): Member[] {
    return [];
  }

  override keySplices(): Splice[] {
    return [];
  }

  write(
    view: View | undefined,
    {
      injected = [],
      tools = [],
      marks: most = 0,
      movesMark = false,
      losesMarks = false,
      thinkingFrom: from = 0,
      comparedWith,
    }: Additions = {},
    kept?: KnownStart,
  ): Uint8Array {
    const adds = view?.summary !== undefined || injected.length > 0;
    const threshold = adds && this.mayHaveCompactions ? lastThreshold(this.messages) : undefined;
    const edited = readAfter(view ?? NO_EDITS, threshold);
    const thinkingFrom = Math.max(from, edited.thinkingFrom ?? 0);
    const [ofSystem, ofUser] = [ofRole(injected, 'system'), ofRole(injected, 'user')];
    const { messages, elements } = this;
    const layout = layoutOf(messages, elements, edited, thinkingFrom, injectedJson(ofUser), threshold);
    const places = latestMarks(view, most);
    const marks = marksFor(this, layout, { places, movesMark: movesMark && most > 0, losesMarks });
    const added = this.toolEdits(tools, marks);
    const system = this.systemEdits(ofSystem, marks);
    const splices = [
      ...added.splices,
      ...system.splices,
      ...memberSplices(this.root, isOwnField, [
        ...added.members,
        ...system.members,
        ...this.comparison(comparedWith),
      ]),
      ...viewSplices({ messages, elements, view: edited, layout, marks }),
    ];
    return spliceBody(this.bytes, splices, kept);
  }

  /** The API compares only with requests that have asked, too, so the first one asks of none. */
  private comparison(comparedWith: string | undefined): Member[] {
    if (comparedWith === undefined || this.field(DIAGNOSTICS) !== undefined) return [];
    return [{ key: DIAGNOSTICS, json: JSON.stringify({ previous_message_id: comparedWith || null }) }];
  }

  /** Precis's tools after the caller's, and a mark after the last one. */
  private toolEdits(tools: readonly string[], { tools: mark }: WrittenMarks): Edits {
    const last = fieldOf(this.root, 'tools')?.items?.at(-1);
    if (mark === undefined) return addTools(this.bytes, this.root, tools);
    if (tools.length > 0)
      return addTools(
        this.bytes,
        this.root,
        tools.map((tool, at) =>
          at < tools.length - 1 ? tool : `${tool.slice(0, -1)},"${MARK_FIELD}":${mark}}`,
        ),
      );
    return { splices: takesMark(this.bytes, last) ? [markAt(last, mark)] : [], members: [] };
  }

  /**
   * Precis's texts after the caller's, whose first entries stay as they are: Claude Code's first
   * one says who asks, and nothing may be before it.
   */
  private systemEdits(injected: readonly InjectedMessage[], { system: mark }: WrittenMarks): Edits {
    const system = this.given('system');
    const ours = injected.map(({ content }, at) =>
      JSON.stringify({
        type: 'text',
        text: content,
        ...(mark !== undefined && at === injected.length - 1
          ? { [MARK_FIELD]: JSON.parse(mark) as unknown }
          : {}),
      }),
    );
    const json = ours.join(',');
    const splices = (...of: Splice[]): Edits => ({ splices: of, members: [] });
    const last = system?.items?.at(-1);
    if (ours.length === 0) {
      if (mark === undefined) return splices();
      if (system?.kind === 'string') return splices(...wrapped(system, `,"${MARK_FIELD}":${mark}}]`));
      return splices(...(takesMark(this.bytes, last) ? [markAt(last, mark)] : []));
    }
    if (system?.kind === 'string' && !isBlankString(this.bytes, system))
      return splices(...wrapped(system, `},${json}]`));
    if (system?.kind === 'array') {
      const at = system.end - 1;
      return splices({ start: at, end: at, with: last || !system.items ? `,${json}` : json });
    }
    return { splices: [], members: [{ key: 'system', json: `[${json}]` }] };
  }
}

/** A text as the first entry of a list. */
const wrapped = (text: JsonSpan, tail: string): Splice[] =>
  wrapSplices(text, '[{"type":"text","text":', tail);

function markAt({ end }: JsonSpan, mark: string): Splice {
  return { start: end - 1, end: end - 1, with: `,"${MARK_FIELD}":${mark}` };
}

function ofRole(injected: readonly InjectedMessage[], role: InjectedMessage['role']): InjectedMessage[] {
  return injected.filter((message) => message.role === role);
}

/** Only the outline of a body is decoded; the upstream validates the messages themselves. */
export function readMessagesRequest(
  bytes: Uint8Array,
  shared?: SharedArray,
): Result<MessagesRequest, BodyFault> {
  const scanned = scanBody(bytes, OUTLINE, shared);
  if (!scanned.ok) return scanned;
  const root = scanned.value;
  const messages = fieldOf(root, 'messages');
  if (messages?.kind !== 'array') return NO_MESSAGES;
  const request = new MessagesRequest(bytes, root, messages, shared);
  // A thread whose last answer is unfinished goes on without a new message.
  return messages.items?.length === 0 && !request.upstreamState ? NO_MESSAGES : { ok: true, value: request };
}

const NO_MESSAGES = invalidMessages(
  'messages',
  'The field messages must be an array of at least one message.',
);

/**
 * The view as the JSON of `messages`. As in the Responses API, what was changed has no mark, since
 * upstreams refuse unknown fields. `system` stays with the caller.
 */
export function writeCompactedMessages(request: MessagesRequest, view: View | undefined): Uint8Array {
  const messages = request.writtenArray(view);
  if (!messages) throw new Error('a view was written that cannot be read');
  return messages;
}

/**
 * The view in two parts: what comes first and replaces an earlier conversation, as the API's own
 * summaries do, and all other messages.
 *
 * @returns each element of `messages` as JSON
 */
export function compactedParts(request: MessagesRequest, view: View | undefined): ViewParts {
  const read = readMessagesRequest(request.write(view));
  if (!read.ok) throw new Error('a view was written that cannot be read');
  const parts = read.value.messages.filter((message) => message instanceof ElementMessage);
  const first = parts.find(({ role }) => role !== 'preamble')?.place ?? Number.POSITIVE_INFINITY;
  const elements = new Map(parts.map(({ place, element: { body, span } }) => [place, textOf(body, span)]));
  const ofPlaces = (isIn: (place: number) => boolean): string[] =>
    [...elements].flatMap(([place, json]) => (isIn(place) ? [json] : []));
  return { preamble: ofPlaces((place) => place < first), others: ofPlaces((place) => place >= first) };
}
