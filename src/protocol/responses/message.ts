/**
 * Items of `input` (https://platform.openai.com/docs/api-reference/responses/create) as messages.
 *
 * One turn of a model is several items: reasoning, a message, calls. Together they are one
 * assistant message, so reasoning stays or goes with the items after it. Items of unknown kinds
 * belong to the message before them, and are never edited.
 *
 * Units and indices are thus the same as in chat, and a conversation has the same view in both
 * protocols. `instructions` is the first message. An output that must not be edited has no room for
 * a placeholder.
 */

import { concat } from '../../lib/bytes.ts';
import type {
  Content,
  HostedOutput,
  InlineMedia,
  Message,
  MessageFacts,
  Reasoning,
  Role,
  Thinking,
  ToolCall,
  Weight,
} from '../../memory/conversation/message.ts';
import { markSplices } from '../edits.ts';
import type { JsonSpan } from '../json/outline.ts';
import { fieldOf, jsonOf } from '../json/spans.ts';
import { KeptContents } from '../kept-contents.ts';
import type { KnownMessages } from '../known-array.ts';
import { LOADING, loadedBy, type NeedsLoading } from '../loaded-tools.ts';
import { NamedMessage } from '../message-names.ts';
import type { WireMessage } from '../model-request.ts';
import { plain, sumOfWeights, withEncrypted } from '../parts.ts';
import { Item, type ItemFacts, PROGRAM_OUTPUT } from './item.ts';
import { reasoningIn, thinkingAmong } from './past-reasoning.ts';
import { needsReasoning } from './reasoning.ts';

/** Items whose content may be a list of parts. */
const MARKABLE: ReadonlySet<string> = new Set(['message', 'function_call_output', 'custom_tool_call_output']);

const COMMA = new TextEncoder().encode(',');

/** What a request says of all its items. */
interface Terms {
  readonly needs: NeedsLoading;
  /** Whether the API leaves out thinking before which something has changed. */
  readonly dropsThinking: boolean;
}

/** A message: a single item, or all items of one turn of the model. */
export class ItemGroup extends NamedMessage implements WireMessage {
  readonly items: readonly Item[];
  readonly role: Role;
  readonly continues: boolean;
  /**
   * Whether its thinking stays whatever has changed before it: where that is no error, items that
   * are known by their ids are still refused without it.
   */
  keepsThinking = false;
  private readonly body: Uint8Array;
  private readonly kept: KeptContents;
  /** The one with the reasoning that led to it. */
  private readonly thought: ItemGroup | undefined;
  private readonly terms: Terms | undefined;

  /**
   * @param items at least one
   * @param before the group before it
   * @param kept shared by all groups of the body
   * @param facts of a group with the same bytes and the same messages before it
   */
  constructor(
    body: Uint8Array,
    items: readonly Item[],
    before?: ItemGroup,
    kept = new KeptContents(),
    facts: MessageFacts = {},
    terms?: Terms,
  ) {
    super(facts);
    this.body = body;
    this.terms = terms;
    this.kept = kept;
    this.items = items;
    this.role = items[0]?.role ?? 'preamble';
    this.continues =
      this.role === 'assistant' && !this.hasReasoning && (before?.hasReasoning || before?.continues || false);
    this.thought = this.hasReasoning ? this : this.continues ? before?.thought : undefined;
    const isNeeded = this.dropsThinking && items.some(({ type }) => needsReasoning(type));
    if (isNeeded && this.thought) this.thought.keepsThinking = true;
  }

  private get hasReasoning(): boolean {
    return this.items.some(({ type }) => type === 'reasoning');
  }

  get dropsThinking(): boolean {
    return this.terms?.dropsThinking === true;
  }

  get parts(): number {
    return this.items.length;
  }

  get wireRole(): string | undefined {
    return this.first.string('role') ?? (this.role === 'preamble' ? this.first.type : this.role);
  }

  get json(): Uint8Array {
    return this.body.subarray(this.first.span.start, this.items.at(-1)?.span.end);
  }

  get bytes(): number {
    return this.json.length;
  }

  get calls(): readonly ToolCall[] {
    this.facts.calls ??= this.callItems.flatMap(({ call }) => call ?? []);
    return this.facts.calls;
  }

  get callItems(): readonly Item[] {
    return this.role === 'assistant' ? this.items.filter(({ calls }) => calls) : [];
  }

  get answers(): string | undefined {
    return this.first.answers;
  }

  /** The programs that wait for results of their calls. */
  get hostedUses(): readonly string[] {
    return this.apart('program', PROGRAM_OUTPUT);
  }

  get hostedResults(): readonly string[] {
    return this.apart(PROGRAM_OUTPUT, 'program');
  }

  /** The ids of items of a type without the other one beside them. */
  private apart(type: string, other: string): readonly string[] {
    const idsOf = (of: string) => this.items.flatMap((item) => (item.type === of ? (item.ownId ?? []) : []));
    const others = idsOf(other);
    return idsOf(type).filter((id) => !others.includes(id));
  }

  get loads(): Message['loads'] {
    this.facts.loaded ??= this.items.flatMap(({ type, span }) =>
      LOADING.includes(type) ? loadedBy(jsonOf(this.body, span)) : [],
    );
    if (this.facts.loaded.length === 0) return undefined;
    return this.terms?.needs(this.facts.loaded) ? 'needed' : 'idle';
  }

  /** Whether an item refers to one stored upstream. */
  get refersToItems(): boolean {
    return this.items.some(({ isReference }) => isReference);
  }

  /** The lists of tools in `additional_tools` items. */
  get addedTools(): readonly unknown[] {
    return this.items.flatMap(({ type, span }) => {
      const tools = type === 'additional_tools' ? fieldOf(span, 'tools') : undefined;
      return tools ? [jsonOf(this.body, tools)] : [];
    });
  }

  /** The item with the text: a message or an output. */
  get spoken(): Item | undefined {
    return this.role === 'tool' ? this.first : this.items.find(({ type }) => type === 'message');
  }

  content(): Content {
    return this.kept.of(this, () =>
      withEncrypted(this.spoken?.content() ?? plain(''), sumOfWeights(this.otherWeights)),
    );
  }

  media(): readonly InlineMedia[] {
    return this.spoken?.media() ?? [];
  }

  opening(): string {
    return this.spoken?.opening() ?? '';
  }

  bearsMark(isReplaced: boolean): boolean {
    const { spoken } = this;
    if (!spoken || !MARKABLE.has(spoken.type)) return false;
    return isReplaced || markSplices(this.body, spoken.contentSpan(), 'input_text').length > 0;
  }

  /** The items with the outputs that `hosted` lists, in the same order. */
  get hostedItems(): readonly Item[] {
    return this.role === 'assistant' ? this.items.filter(({ hosted }) => hosted) : [];
  }

  hosted(): readonly HostedOutput[] {
    return this.hostedItems.flatMap((item) => {
      const { hosted, tool, type, ownId: id } = item;
      return hosted ? [{ tool, id, content: () => hosted.content(type) }] : [];
    });
  }

  /** The items with the calls that `hostedCalls` lists, in the same order. */
  get hostedCallItems(): readonly Item[] {
    return this.role === 'assistant' ? this.items.filter(({ hostedCall }) => hostedCall) : [];
  }

  hostedCalls(): readonly ToolCall[] {
    return this.hostedCallItems.flatMap(({ hostedCall }) => hostedCall ?? []);
  }

  /** The items whose arguments may be cleared, in the order of removals. */
  get askedItems(): readonly Item[] {
    return [...this.callItems, ...this.hostedCallItems];
  }

  otherTexts(): readonly string[] {
    return this.otherWeights.flatMap(({ texts }) => texts);
  }

  beside(): readonly string[] {
    return this.items.flatMap((item) => item.beside());
  }

  /** What the model reads beside the content. */
  private get otherWeights(): readonly Weight[] {
    const weights = this.others.map((item) => item.weight());
    const hosted = this.role === 'tool' && this.first.hosted;
    return hosted ? [this.first.around(), ...weights] : weights;
  }

  reasoning(): Reasoning | undefined {
    return this.role === 'assistant' ? reasoningIn(this.items) : undefined;
  }

  thinking(): Thinking | undefined {
    const found = this.role === 'assistant' ? thinkingAmong(this.items) : undefined;
    return found && this.keepsThinking ? { ...found, stays: true } : found;
  }

  private get first(): Item {
    const [first] = this.items;
    if (!first) throw new Error('a group without items was read');
    return first;
  }

  private get others(): readonly Item[] {
    const { spoken } = this;
    return this.items.filter((item) => item !== spoken);
  }

  protected readFlatTokens(): number {
    const isText = this.spoken?.contentSpan()?.kind === 'string' && this.items.length === 1;
    return isText ? 0 : this.content().weight.flat;
  }

  protected override said(): Uint8Array {
    return concat(this.items.flatMap((item, index) => (index === 0 ? [item.said()] : [COMMA, item.said()])));
  }

  protected get isAnswer(): boolean {
    return this.role === 'assistant' && this.others.every(({ type }) => type === 'reasoning');
  }
}

/** Groups items into messages. Linear in their number. */
export function groupItems(
  body: Uint8Array,
  spans: readonly JsonSpan[],
  known: KnownMessages<MessageFacts, ItemFacts>,
  kept: KeptContents,
  terms: Terms,
): ItemGroup[] {
  const groups: Item[][] = [];
  let hasActed = false;
  /** The calls of the last group that the upstream may answer itself. */
  const asked = new Map<string, Item>();
  for (const [index, span] of spans.entries()) {
    const item = new Item(body, span, known.element(index) ?? { strings: new Map() });
    const group = groups.at(-1);
    const call = asked.get(item.answers ?? '');
    if (call?.answeredBy === item.type) for (const one of [call, item]) one.isRun = true;
    if (group && goesWith(item, group[0], hasActed)) group.push(item);
    else {
      groups.push([item]);
      hasActed = false;
      asked.clear();
    }
    if (item.answeredBy) asked.set(item.string('call_id') ?? '', item);
    hasActed ||= item.type === 'message' || item.calls || item.isRun;
  }
  let first = 0;
  let before: ItemGroup | undefined;
  return groups.map((items) => {
    const facts = known.at(first, items.length);
    first += items.length;
    before = new ItemGroup(body, items, before, kept, facts, terms);
    return before;
  });
}

/** @param hasActed whether the group of the first item has a message or a call */
function goesWith({ role, type }: Item, first: Item | undefined, hasActed: boolean): boolean {
  if (role === undefined) return true;
  if (role !== 'assistant' || first?.role !== 'assistant') return false;
  // It leaves together with its program, and what follows it need not.
  if (first.type === PROGRAM_OUTPUT) return false;
  // A message or reasoning begins a new turn after a message or a call; a call never does.
  const opens = type === 'message' || type === 'reasoning';
  return !opens || !hasActed;
}
