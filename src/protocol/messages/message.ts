/**
 * Elements of `messages` (https://platform.claude.com/docs/en/api/messages/create) as messages.
 *
 * A user message with results of tools is several messages of the core: one for each result, and
 * one for what follows them. So units and indices are the same as in chat, and a conversation has
 * the same view in both protocols. An answer that begins with a summary of the API and calls tools
 * is two: the summary stays, and the calls leave with their results. The writer (`view-splices.ts`)
 * edits what is in the caller's message.
 */
import { bufferOf } from '../../lib/bytes.ts';
import type {
  Content,
  InlineMedia,
  Message,
  MessageFacts,
  Reasoning,
  Role,
  Thinking,
  ToolCall,
} from '../../memory/conversation/message.ts';
import { besideIn, besideText } from '../beside.ts';
import { isThinking, weightOfThinking } from '../chat/reasoning.ts';
import type { JsonSpan, Span } from '../json/outline.ts';
import { bytesOf, jsonOf, textOf } from '../json/spans.ts';
import type { KeptContents } from '../kept-contents.ts';
import type { KnownMessages } from '../known-array.ts';
import { LOADING, loadedBy, type NeedsLoading } from '../loaded-tools.ts';
import { NamedMessage } from '../message-names.ts';
import type { WireMessage } from '../model-request.ts';
import {
  contentOfList,
  contentOfParts,
  EMPTY,
  mediaOfList,
  opaque,
  openingIn,
  plain,
  readParts,
  withEncrypted,
} from '../parts.ts';
import { type Block, PARTS, withoutMarks } from './block.ts';
import type { Element, ElementFacts, HostedParts, Part } from './element.ts';

/**
 * The messages of the elements. Linear in their number.
 *
 * @param known facts about those that an earlier request had
 */
export function messagesOf(
  elements: readonly Element[],
  known: KnownMessages<BlockFacts, ElementFacts>,
  kept: KeptContents,
  needs: NeedsLoading,
): ElementMessage[] {
  const messages: ElementMessage[] = [];
  let before: Element | undefined;
  /** The uses that wait for their results, in the answers since the last request. */
  const open = new Set<string>();
  for (const [place, element] of elements.entries()) {
    element.facts.parts ??= partsOf(element);
    const { parts } = element.facts;
    if (before?.role !== 'assistant') open.clear();
    for (const [order, part] of parts.entries()) {
      const paused = part.role === 'assistant' && before?.role === 'assistant' ? before : undefined;
      const continues = paused !== undefined && open.size > 0;
      const resumes = usesHosted(paused?.blocks);
      const facts = known.at(place, 1, order) ?? newFacts(element, part);
      const isWhole = parts.length === 1;
      const at = { place, isWhole, continues, resumes, kept, needs, facts };
      messages.push(new ElementMessage(element, part, at));
    }
    const { uses, results } = hostedOf(element);
    for (const id of uses) open.add(id);
    for (const id of results) open.delete(id);
    before = element;
  }
  return messages;
}

function newFacts({ blocks }: Element, { role, from }: Part): BlockFacts {
  const hasFailed = role === 'tool' && blocks?.[from]?.json('is_error') === 'true';
  return hasFailed ? { failed: true } : {};
}

function partsOf({ role, blocks = [] }: Element): Part[] {
  const whole = (of: Role): Part[] => [{ role: of, from: 0, end: blocks.length }];
  // The API's own summary replaces what it has summarized, and nothing else.
  const start = blocks.findLastIndex(({ type }) => type === 'compaction') + 1;
  const call = blocks.findIndex(({ type }) => type === 'tool_use');
  if (start > 0 && call < 0) return whole('preamble');
  if (role === 'assistant') {
    if (start === 0 || call < start) return whole('assistant');
    return [
      { role: 'preamble', from: 0, end: start },
      { role: 'assistant', from: start, end: blocks.length },
    ];
  }
  if (role !== 'user') return whole('preamble');
  const parts: Part[] = [];
  for (const [at, { type }] of blocks.entries()) {
    const last = parts.at(-1);
    if (type === 'tool_result') parts.push({ role: 'tool', from: at, end: at + 1 });
    else if (last?.role === 'user') parts[parts.length - 1] = { ...last, end: at + 1 };
    else parts.push({ role: 'user', from: at, end: at + 1 });
  }
  const [last, before] = [parts.at(-1), parts.at(-2)];
  // What a harness says after results belongs to them: nobody has asked it of the model.
  if (last?.role === 'user' && before && blocks.slice(last.from).every((block) => isReminder(block)))
    parts.splice(-2, 2, { ...before, end: last.end });
  return parts.length > 0 ? parts : whole('user');
}

/** What begins and ends texts that Claude Code puts after results. */
const REMINDER = 'system-reminder';
const REMINDER_START = `<${REMINDER}>`;
const REMINDER_END = `</${REMINDER}>`;

/** Whether a block is reminders and nothing else. Words between two of them are the user's. */
function isReminder(block: Block): boolean {
  // Encoders may escape the brackets, and nobody the name.
  if (block.type !== 'text' || !block.json('text').includes(REMINDER)) return false;
  const reminders = (block.string('text') ?? '').split(REMINDER_END);
  const rest = reminders.pop()?.trim();
  return (
    reminders.length > 0 && rest === '' && reminders.every((one) => one.trim().startsWith(REMINDER_START))
  );
}

/**
 * Uses of tools that the API runs
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools). Only an answer with
 * some can have paused.
 */
const HOSTED: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use']);

const HOSTED_RESULT = /._tool_result$/;

/** A result may be in another message than its use. */
function usesHosted(blocks: readonly Block[] = []): boolean {
  return blocks.some(({ type }) => HOSTED.has(type) || HOSTED_RESULT.test(type));
}

const NONE: HostedParts = { uses: [], results: [] };

/** The uses and results of the API's tools that have no counterpart in the same element. */
function hostedOf(element: Element): HostedParts {
  element.facts.hosted ??= readHosted(element);
  return element.facts.hosted;
}

function readHosted({ role, blocks }: Element): HostedParts {
  if (role !== 'assistant' || !usesHosted(blocks)) return NONE;
  const of = (kind: (type: string) => boolean, key: string): string[] =>
    (blocks ?? []).filter(({ type }) => kind(type)).map((block) => block.string(key) ?? '');
  const uses = of((type) => HOSTED.has(type), 'id');
  const results = of((type) => HOSTED_RESULT.test(type), 'tool_use_id');
  return {
    uses: uses.filter((id) => !results.includes(id)),
    results: results.filter((id) => !uses.includes(id)),
  };
}

/** Blocks that a text is read from, and what of them is read. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'tool_result']);
const SHOWN: ReadonlySet<string> = new Set([
  ...['type', 'text', 'id', 'name', 'input', 'tool_use_id', 'content'],
]);

export interface BlockFacts extends MessageFacts {
  answers?: string | null;
  /** Of its thinking: as `Thinking`; null without any. */
  thought?: Omit<Thinking, 'weight'> | null;
}

interface Place {
  /** The index of the element. */
  readonly place: number;
  /** Whether it is the only message of the element. */
  readonly isWhole: boolean;
  readonly continues: boolean;
  readonly resumes: boolean;
  readonly kept: KeptContents;
  readonly needs: NeedsLoading;
  readonly facts: BlockFacts;
}

/** A message in an element, or in a part of one. Decoded and hashed on demand. */
export class ElementMessage extends NamedMessage<BlockFacts> implements WireMessage {
  readonly element: Element;
  readonly role: Role;
  /** The index of the element. */
  readonly place: number;
  readonly isWhole: boolean;
  readonly continues: boolean;
  readonly resumes: boolean;
  private readonly part: Part;
  private readonly kept: KeptContents;
  private readonly needs: NeedsLoading;
  private read: readonly Block[] | undefined;

  constructor(element: Element, part: Part, at: Place) {
    super(at.facts);
    const { place, isWhole, continues, resumes, kept, needs } = at;
    this.element = element;
    this.part = part;
    this.role = part.role;
    this.place = place;
    this.isWhole = isWhole;
    this.continues = continues;
    this.resumes = resumes;
    this.kept = kept;
    this.needs = needs;
  }

  /** Its blocks; undefined if its content is no list. */
  get blocks(): readonly Block[] | undefined {
    if (this.isWhole) return this.element.blocks;
    this.read ??= this.element.blocks?.slice(this.part.from, this.part.end);
    return this.read;
  }

  get parts(): number {
    return this.blocks?.length ?? 1;
  }

  get wireRole(): string | undefined {
    return this.element.role;
  }

  /** A part of a message is as a message of its own. */
  get json(): Uint8Array {
    const { body, span } = this.element;
    if (this.isWhole) return body.subarray(span.start, span.end);
    const content = listOf(body, this.blocks ?? []);
    return new TextEncoder().encode(`{"role":"${this.wireRole}","content":${content}}`);
  }

  get bytes(): number {
    const { start, end } = this.isWhole ? this.element.span : this.range;
    return end - start;
  }

  /** From its first block to its last. */
  get range(): Span {
    const { span, content } = this.element;
    const blocks = content?.kind === 'array' ? (content.items ?? []) : [];
    const { from, end } = this.part;
    return { start: blocks[from]?.start ?? span.start, end: blocks[end - 1]?.end ?? span.end };
  }

  /** The result of a call, in a message of the role `tool`. */
  get result(): Block | undefined {
    return this.role === 'tool' ? this.element.blocks?.[this.part.from] : undefined;
  }

  /** The calls that the caller answers, in order. */
  get callBlocks(): readonly Block[] {
    return this.role === 'assistant' ? (this.blocks ?? []).filter(({ type }) => type === 'tool_use') : [];
  }

  get calls(): readonly ToolCall[] {
    this.facts.calls ??= this.callBlocks.map((block) => ({
      id: block.string('id') ?? '',
      name: block.string('name') ?? '',
      input: block.json('input'),
    }));
    return this.facts.calls;
  }

  get answers(): string | undefined {
    this.facts.answers ??= this.result ? (this.result.string('tool_use_id') ?? '') : null;
    return this.facts.answers ?? undefined;
  }

  get hostedUses(): readonly string[] {
    return this.role === 'assistant' ? hostedOf(this.element).uses : NONE.uses;
  }

  get hostedResults(): readonly string[] {
    return this.role === 'assistant' ? hostedOf(this.element).results : NONE.results;
  }

  get loads(): Message['loads'] {
    this.facts.loaded ??= this.readLoaded();
    if (this.facts.loaded.length === 0) return undefined;
    return this.needs(this.facts.loaded) ? 'needed' : 'idle';
  }

  /** Only results load tools, and listings. Most are not decoded. */
  private readLoaded(): readonly string[] {
    if (this.role !== 'assistant' && !this.result) return [];
    const { body } = this.element;
    const mayLoad = ({ type, span }: Block): boolean =>
      (type === 'tool_result' || LOADING.includes(type) || HOSTED_RESULT.test(type)) &&
      LOADING.some((kind) => bufferOf(body.subarray(span.start, span.end)).includes(kind));
    return (this.blocks ?? []).filter(mayLoad).flatMap((block) => loadedBy(block.value()));
  }

  content(): Content {
    return this.kept.of(this, () => withEncrypted(this.readContent(), this.thinking()?.weight));
  }

  media(): readonly InlineMedia[] {
    if (this.role !== 'user' || !this.blocks) return [];
    return mediaOfList(this.element.body, this.readBlocks(this.blocks), PARTS);
  }

  /** Clients add members to the blocks of the API's tools, and keep texts and ids. */
  names(): readonly string[] {
    const { blocks = [] } = this;
    if (!usesHosted(blocks)) return this.content().weight.texts;
    return blocks.map((block) => (block.type === 'text' ? block.string('text') : block.string('id')) ?? '');
  }

  opening(): string {
    if (this.result || !this.blocks) return openingIn(this.element.body, this.contentSpan, PARTS);
    const [first] = this.spoken;
    return (first && PARTS.textOf(first.value())) ?? '';
  }

  bearsMark(isReplaced: boolean): boolean {
    if (this.blocks) return isReplaced || (this.blocks.at(-1)?.takesMark ?? false);
    return isReplaced || (this.element.content?.kind === 'string' && this.opening().trim() !== '');
  }

  otherTexts(): readonly string[] {
    const later = this.result ? this.readBlocks((this.blocks ?? []).slice(1)) : [];
    const said = [...later].map(({ value }) => PARTS.textOf(value) ?? '');
    return [
      ...said,
      ...(this.thinking()?.weight.texts ?? []),
      ...this.calls.flatMap(({ name, input }) => [name, input]),
    ];
  }

  beside(): readonly string[] {
    const { body } = this.element;
    const said = this.result ? [this.result] : this.spoken;
    // Other blocks are read as JSON, and so are several.
    const texts = said.length === 1 ? said.filter(({ type }) => TEXTS.has(type)) : [];
    return [
      ...[...this.callBlocks, ...texts].flatMap(({ span }) => besideIn(body, span, SHOWN)),
      ...besideText(body, this.result?.field('content'), PARTS),
    ];
  }

  /** Undefined where nothing else would be left of the message. */
  reasoning(): Reasoning | undefined {
    const thinking = this.thinking();
    if (!thinking || (this.calls.length === 0 && this.content().text === '')) return undefined;
    return { form: 'fields', weight: thinking.weight, bytes: thinking.bytes };
  }

  thinking(): Thinking | undefined {
    if (this.role !== 'assistant') return undefined;
    this.facts.thought ??= this.readThought() ?? null;
    if (!this.facts.thought) return undefined;
    const weigh = () => weightOfThinking(this.thinkingBlocks.map((block) => block.value()));
    return {
      ...this.facts.thought,
      get weight() {
        return weigh();
      },
    };
  }

  get thinkingBlocks(): readonly Block[] {
    return this.role === 'assistant' ? (this.blocks ?? []).filter(({ isThinking }) => isThinking) : [];
  }

  private readThought(): BlockFacts['thought'] {
    const { thinkingBlocks, blocks = [] } = this;
    if (thinkingBlocks.length === 0) return undefined;
    const isAll = thinkingBlocks.length === blocks.length;
    const isFirst = thinkingBlocks[0] === blocks.find(({ type }) => type !== 'compaction');
    return {
      bytes: bytesOf(thinkingBlocks.map(({ span }) => span)),
      blocks: thinkingBlocks.length,
      isAll,
      isFirst,
    };
  }

  /** The blocks with its content: all but thinking and calls. */
  private get spoken(): readonly Block[] {
    return (this.blocks ?? []).filter(
      ({ type, isThinking }) => this.role !== 'assistant' || (!isThinking && type !== 'tool_use'),
    );
  }

  protected get isAnswer(): boolean {
    return this.role === 'assistant' && this.calls.length === 0;
  }

  /**
   * Without marks of the prompt cache, which clients move with each request, and without thinking,
   * which they may leave out. A text is the same as a string and as a block.
   */
  protected override said(): string {
    const { body, content } = this.element;
    const value = this.blocks?.map((block) => block.value()) ?? (content ? jsonOf(body, content) : null);
    const blocks = typeof value === 'string' ? [{ type: 'text', text: value }] : value;
    const said = Array.isArray(blocks) ? blocks.filter((block) => !isThinking(block)) : blocks;
    return JSON.stringify({ role: this.wireRole, content: withoutMarks(said) });
  }

  /** The content of its result, or of the element. */
  private get contentSpan(): JsonSpan | undefined {
    return this.result ? this.result.field('content') : this.element.content;
  }

  private readContent(): Content {
    const { contentSpan } = this;
    const { body } = this.element;
    if (this.blocks && !this.result) {
      const { spoken } = this;
      if (spoken.length === 0) return EMPTY;
      return contentOfList(this.readBlocks(spoken), () => listOf(body, spoken), PARTS);
    }
    if (contentSpan?.kind === 'array') return contentOfParts(body, contentSpan, PARTS);
    if (contentSpan?.kind === 'string') return plain(jsonOf(body, contentSpan) as string);
    return contentSpan ? opaque({ texts: [textOf(body, contentSpan)], flat: 0 }) : EMPTY;
  }

  protected readFlatTokens(): number {
    return this.contentSpan?.kind === 'array' ? this.content().weight.flat : 0;
  }

  private readBlocks(blocks: readonly Block[]) {
    return readParts(
      this.element.body,
      blocks.map(({ span }) => span),
    );
  }
}

function listOf(body: Uint8Array, blocks: readonly Block[]): string {
  return `[${blocks.map(({ span }) => textOf(body, span)).join(',')}]`;
}
