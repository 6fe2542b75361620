/**
 * The Responses API: reads a body into messages and writes a view back
 * (https://platform.openai.com/docs/api-reference/responses/create).
 *
 * As for chat, reading keeps spans and writing splices them, so unedited parts are sent as the
 * bytes that came.
 */

import { asList, asObject, asObjects } from '../../lib/json.ts';
import type { Result } from '../../lib/result.ts';
import type { Content, MessageFacts } from '../../memory/conversation/message.ts';
import { isClaude } from '../../memory/models/families.ts';
import { dropsThinking, reasoningTermsOf } from '../../memory/models/past-reasoning.ts';
import type { View } from '../../memory/plan/view.ts';
import { type BodyFault, invalidMessages, isOwnField, scanBody } from '../body.ts';
import { type CacheMarks, CLAUDE_MARKS, NO_EDITS, OPENAI_MARKS } from '../edits.ts';
import { FieldMessage, type FieldValue, fieldValue } from '../field-message.ts';
import { type JsonSpan, only } from '../json/outline.ts';
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
import { loadingOf, namesIn } from '../loaded-tools.ts';
import {
  type Additions,
  bodyOutline,
  injectedJson,
  ModelRequest,
  splitPreamble,
  type ViewParts,
  type WireMessage,
} from '../model-request.ts';
import { plain } from '../parts.ts';
import { addTools, type FunctionTool } from '../tools.ts';
import { type KnownStart, spliceBody } from '../written-bodies.ts';
import { type ItemFacts, READ_FIELDS } from './item.ts';
import { groupItems, ItemGroup } from './message.ts';
import { includeWith } from './reasoning.ts';
import { viewSplices } from './view-splices.ts';

const OUTLINE = bodyOutline('input', only(READ_FIELDS), 'tools');

const CALLERS_MARKS: CacheMarks = { ...CLAUDE_MARKS, areCallers: false };

const INSTRUCTIONS = 'instructions';

const MANAGEMENT = 'context_management';
/** https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics */
const CACHE_OPTIONS = 'prompt_cache_options';

const TRIGGER = 'compaction_trigger';

const EMPTY_JSON = '""';

/** Types of items from developers. */
const DEVELOPERS = new Set(['message', 'additional_tools', 'configuration_update']);

/** Fields that refer to history stored upstream. */
const STATE_FIELDS = ['previous_response_id', 'conversation'] as const;

/** A body of `POST /v1/responses`. */
export class ResponsesRequest extends ModelRequest {
  readonly protocol = 'responses';
  readonly conversationField = 'input';
  /** `instructions` first, if there are any, then the input's items, grouped into messages. */
  readonly messages: readonly WireMessage[];
  readonly tooManyMessages: boolean;
  readonly answerTokens: number;
  override readonly upstreamState: string | undefined;
  private readonly list: JsonSpan | undefined;
  /** `instructions`. */
  private readonly before: readonly Text[];

  /** @param input the span of the field: a string or an array; absent with a stored prompt */
  constructor(
    bytes: Uint8Array,
    root: JsonSpan,
    input: JsonSpan | undefined,
    shared: SharedArray | undefined,
  ) {
    super(bytes, root, ['tools']);
    const instructions = fieldOf(root, INSTRUCTIONS);
    const before = instructions?.kind === 'string' ? [fieldValue(bytes, instructions)] : [];
    const known = new KnownMessages<MessageFacts, ItemFacts>(shared, before);
    this.before = before.map((value, at) => new Text(value, 'preamble', known.before(at)));
    const terms = {
      needs: loadingOf(() => this.listedTools()),
      dropsThinking: dropsThinking(reasoningTermsOf(this.model)),
    };
    const conversation =
      input?.kind === 'string'
        ? [new Text(fieldValue(bytes, input), 'user')]
        : groupItems(bytes, input?.items ?? [], known, this.kept, terms);
    this.list = input;
    this.messages = [...this.before, ...conversation];
    this.tooManyMessages = input?.kind === 'array' && !input.items;
    this.answerTokens = this.limit('max_output_tokens') ?? 0;
    this.upstreamState = this.stateField();
  }

  /**
   * Where gateways serve Anthropic's models here, no form is known in which Precis's marks would
   * work.
   */
  override get cacheMarks(): CacheMarks {
    return isClaude(this.model) ? CALLERS_MARKS : OPENAI_MARKS;
  }

  get array(): ReadArray | undefined {
    const { bytes, list, before } = this;
    if (!list?.items) return undefined;
    const groups = this.messages.filter((message) => message instanceof ItemGroup);
    let first = 0;
    const messages = groups.map(({ items: { length }, facts }) => {
      first += length;
      return { first: first - length, length, facts };
    });
    const elements = groups.flatMap(({ items }) => items.map(({ facts }) => facts));
    return { protocol: 'responses', bytes, list, before, elements, messages };
  }

  /** Undefined without an array that could take them, and where there is nothing to move. */
  override get instructions(): Text | undefined {
    const [first] = this.before;
    const takes = this.list?.kind === 'string' || this.list?.items !== undefined;
    return takes && first && first.value.length > EMPTY_JSON.length ? first : undefined;
  }

  /** Not for background responses, and not for stored prompts, which may have their own tools. */
  get takesTools(): boolean {
    const isList = (this.given('tools')?.kind ?? 'array') === 'array';
    const isForeign = this.field('background') === true || this.given('prompt') !== undefined;
    return isList && !isForeign && this.given('input') !== undefined;
  }

  protected get answerForm(): unknown {
    return asObject(this.field('text')).format;
  }

  protected get effort(): unknown {
    return asObject(this.field('reasoning')).effort;
  }

  protected get verbosity(): unknown {
    return asObject(this.field('text')).verbosity;
  }

  override get asksReasoning(): boolean {
    return this.addedInclude.length === 0;
  }

  private get addedInclude(): Member[] {
    const json = includeWith(this.field('include'));
    return json === undefined ? [] : [{ key: 'include', json }];
  }

  /** Codex sends its tools in the input. */
  override get hasTools(): boolean {
    return super.hasTools || this.addedTools.some((tools) => Array.isArray(tools) && tools.length > 0);
  }

  /** Names of functions and custom tools, also of those in namespaces and in the input. */
  get toolNames(): ReadonlySet<string> {
    return new Set([this.listedTools(), ...this.addedTools].flatMap(namesIn));
  }

  private get addedTools(): readonly unknown[] {
    return this.messages.flatMap((message) => (message instanceof ItemGroup ? message.addedTools : []));
  }

  override readonly hasCompaction = true;

  override get compaction(): { readonly threshold: number | undefined } | undefined {
    const entry = asObjects(this.field(MANAGEMENT)).find(({ type }) => type === 'compaction');
    if (!entry) return undefined;
    const threshold = entry.compact_threshold;
    const isOne = typeof threshold === 'number' && threshold >= 1;
    return { threshold: isOne ? Math.min(Math.floor(threshold), Number.MAX_SAFE_INTEGER) : undefined };
  }

  /** Codex asks for a compaction with this as the last item. */
  override get isCompaction(): boolean {
    const last = this.messages.at(-1);
    return last instanceof ItemGroup && last.items.at(-1)?.type === TRIGGER;
  }

  /** Developer messages in the input, and the tools and settings added there. */
  get standing(): readonly WireMessage[] {
    return this.preambleOf((type) => DEVELOPERS.has(type));
  }

  override get compacted(): readonly WireMessage[] {
    return this.preambleOf((type) => !DEVELOPERS.has(type) && type !== TRIGGER);
  }

  private stateField(): string | undefined {
    const named = STATE_FIELDS.find((field) => (this.field(field) ?? null) !== null);
    if (named !== undefined) return named;
    // Items that are not read may be references.
    const refers =
      this.tooManyMessages ||
      this.messages.some((message) => message instanceof ItemGroup && message.refersToItems);
    return refers ? 'input' : undefined;
  }

  /** Upstreams take a function as strict by default. */
  toolJson({ type, function: tool }: FunctionTool): string {
    return JSON.stringify({ type, ...tool, strict: false });
  }

  write(
    view: View | undefined,
    {
      injected = [],
      tools = [],
      reasoning = false,
      compaction,
      marks = 0,
      movesMark = false,
      thinkingFrom = 0,
      ...more
    }: Additions = {},
    kept?: KnownStart,
  ): Uint8Array {
    const isCut = compaction === 'cut' && this.otherEntries.length === 0;
    const added = addTools(this.bytes, this.root, tools);
    const isMoved = more.movesInstructions === true && this.instructions !== undefined;
    const injection = this.injection(
      isMoved ? `{"role":"developer","content":${this.instructions?.text ?? EMPTY_JSON}}` : '',
      injectedJson(injected),
    );
    const isCutField = (key: string): boolean =>
      isOwnField(key) || (isCut && key === MANAGEMENT) || (isMoved && key === INSTRUCTIONS);
    const members = [
      ...(more.shared?.stores ? [{ key: 'store', json: 'false' }] : []),
      ...this.cacheKey(more),
      ...this.comparison(more),
      ...injection.members,
      ...added.members,
      ...(reasoning ? this.addedInclude : []),
      ...(compaction === undefined || isCut ? [] : this.management(compaction)),
    ];
    const marked = this.markedMessages(view, marks, movesMark);
    const splices = [
      ...this.keySplices(more),
      ...injection.splices,
      ...added.splices,
      ...memberSplices(this.root, isCutField, members),
      ...(view || thinkingFrom > 0 || marked.length > 0
        ? viewSplices(this.bytes, this.messages, view ?? NO_EDITS, marked, thinkingFrom)
        : []),
    ];
    return spliceBody(this.bytes, splices, kept);
  }

  /** Needs an answer to compare with. */
  private comparison({ comparedWith = '' }: Additions): Member[] {
    const options = asObject(this.field(CACHE_OPTIONS));
    if (comparedWith === '' || options.comparison_response_id !== undefined) return [];
    return [
      { key: CACHE_OPTIONS, json: JSON.stringify({ ...options, comparison_response_id: comparedWith }) },
    ];
  }

  /** Preamble messages of the input, by the type of their first item. */
  private preambleOf(isSuch: (type: string) => boolean): readonly WireMessage[] {
    return this.messages.filter(
      (message) =>
        message instanceof ItemGroup && message.role === 'preamble' && isSuch(message.items[0]?.type ?? ''),
    );
  }

  /** @param compaction sets or cuts this entry; others stay */
  private management(compaction: 'cut' | { readonly threshold: number | undefined }): Member[] {
    if (compaction === 'cut')
      return this.compaction ? [{ key: MANAGEMENT, json: JSON.stringify(this.otherEntries) }] : [];
    const { threshold: compact_threshold } = compaction;
    const entries = [...this.otherEntries, { type: 'compaction', compact_threshold }];
    return [{ key: MANAGEMENT, json: JSON.stringify(entries) }];
  }

  /** What `context_management` asks for other than a compaction. */
  private get otherEntries(): readonly unknown[] {
    return asList(this.field(MANAGEMENT)).filter((entry) => asObject(entry).type !== 'compaction');
  }

  /**
   * Inserts Precis's messages after the leading preamble, where the position does not change as the
   * conversation grows.
   *
   * @param first a message to be before all others; empty without one
   * @param json Precis's messages; empty without any
   */
  private injection(first: string, json: string): Edits {
    const both = [first, json].filter((each) => each !== '').join(',');
    const spliced = (...splices: Splice[]): Edits => ({ splices, members: [] });
    const inserted = (at: number, text: string): Splice[] =>
      text === '' ? [] : [{ start: at, end: at, with: text }];
    const input = fieldOf(this.root, 'input');
    if (both === '') return spliced();
    if (!input || input.kind === 'literal')
      return { splices: [], members: [{ key: 'input', json: `[${both}]` }] };
    if (input.kind === 'string')
      return spliced(...wrapSplices(input, `[${both},{"role":"user","content":`, '}]'));
    if (!input.items?.length) return spliced(...inserted(input.end - 1, both));
    const leading = inserted(input.start + 1, first && `${first},`);
    const next = this.messages.find((message) => message.role !== 'preamble');
    const start = next instanceof ItemGroup ? next.items[0]?.span.start : undefined;
    if (start !== undefined) return spliced(...leading, ...inserted(start, json && `${json},`));
    return spliced(...leading, ...inserted(input.end - 1, json && `,${json}`));
  }
}

/** Only the outline of a body is decoded; the upstream validates the items themselves. */
export function readResponsesRequest(
  bytes: Uint8Array,
  shared?: SharedArray,
): Result<ResponsesRequest, BodyFault> {
  const scanned = scanBody(bytes, OUTLINE, shared);
  if (!scanned.ok) return scanned;
  const root = scanned.value;
  const input = fieldOf(root, 'input');
  const isAbsent = !input || (input.kind === 'literal' && textOf(bytes, input) === 'null');
  if (!isAbsent && input.kind !== 'string' && input.kind !== 'array')
    return invalidMessages('input', 'The field input must be a string or an array of items.');
  return { ok: true, value: new ResponsesRequest(bytes, root, isAbsent ? undefined : input, shared) };
}

/** A string that is a whole message: `instructions`, or an input that is not an array. */
class Text extends FieldMessage {
  readonly role: 'preamble' | 'user';

  constructor(value: FieldValue, role: 'preamble' | 'user', facts?: MessageFacts) {
    super(value, facts);
    this.role = role;
  }

  get wireRole(): string {
    return this.role === 'user' ? 'user' : 'system';
  }

  /** The equivalent item. */
  get json(): Uint8Array {
    return new TextEncoder().encode(`{"role":"${this.wireRole}","content":${this.text}}`);
  }

  protected readFlatTokens(): number {
    return 0;
  }

  content(): Content {
    return plain(this.opening());
  }

  opening(): string {
    return this.read() as string;
  }
}

/**
 * The view as the JSON of `input`: an array of items, or the string that came. Unlike messages,
 * items that were changed have no mark, since upstreams refuse unknown fields in them.
 */
export function writeCompactedItems(request: ResponsesRequest, view: View | undefined): Uint8Array {
  return request.writtenArray(view) ?? new TextEncoder().encode('[]');
}

/**
 * The view in two parts: the items of the leading preamble, and all other items. `instructions`
 * belong to neither.
 *
 * @returns each message as JSON: one item, or several separated by commas
 */
export function compactedItems(request: ResponsesRequest, view: View | undefined): ViewParts {
  const read = readResponsesRequest(request.write(view));
  if (!read.ok) throw new Error('a view was written that cannot be read');
  return splitPreamble(
    read.value.messages.filter((message) => message.role !== 'preamble' || message instanceof ItemGroup),
  );
}
