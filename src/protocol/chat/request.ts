/**
 * Chat completions: reads a body into messages, writes a view back, and adds the report.
 *
 * Reading keeps spans and writing splices them, so unedited parts are sent as the bytes that came.
 */

import { asObject, isObject } from '../../lib/json.ts';
import type { Result } from '../../lib/result.ts';
import type { Removal } from '../../memory/edits/removal.ts';
import { baseName, isClaude } from '../../memory/models/families.ts';
import type { View } from '../../memory/plan/view.ts';
import { type BodyFault, invalidMessages, isOwnField, scanBody } from '../body.ts';
import { inputSplice } from '../call-input.ts';
import {
  type CacheMarks,
  CLAUDE_MARKS,
  markSplices,
  OPENAI_MARKS,
  openingOf,
  openingSplice,
  outputSplice,
  partSplices,
  roundsSplice,
} from '../edits.ts';
import { type JsonSpan, levels, only } from '../json/outline.ts';
import { cutMembers, fieldOf, memberSplices, type Splice, splice, textOf, within } from '../json/spans.ts';
import { KnownMessages, type ReadArray, type SharedArray } from '../known-array.ts';
import {
  type Additions,
  bodyOutline,
  ModelRequest,
  splitPreamble,
  type ViewParts,
} from '../model-request.ts';
import { roundsWithoutThinking, thinkingIn } from '../thinking.ts';
import { addTools, type FunctionTool, strictTool } from '../tools.ts';
import { type KnownStart, spliceBody } from '../written-bodies.ts';
import { type ChatFacts, ChatMessage, COMPACTED_MARK, inputsOf, PARTS, READ_FIELDS } from './message.ts';
import { type RepeatedFields, repeatedFields } from './repeated-fields.ts';
import { leaving } from './shown-answers.ts';
import { injectionSplice, recapSplice, replacedBySummary, summaryMessages } from './summary.ts';

const OUTLINE = bodyOutline('messages', only(READ_FIELDS), 'tools', 'functions');

/** https://developers.openai.com/api/docs/api-reference/chat/create, `stream_options` */
const STREAM_OPTIONS = 'stream_options';

/** A body of `POST /v1/chat/completions` or `POST /v1/compact`. */
export class ChatRequest extends ModelRequest {
  readonly protocol = 'chat';
  readonly conversationField = 'messages';
  readonly messages: readonly ChatMessage[];
  readonly tooManyMessages: boolean;
  readonly answerTokens: number;

  private readonly list: JsonSpan;
  /** Whether all of the caller's tools are strict. */
  private areStrict: boolean | undefined;

  /** @param list the span of `messages`: an array */
  constructor(bytes: Uint8Array, root: JsonSpan, list: JsonSpan, shared: SharedArray | undefined) {
    super(bytes, root, ['tools', 'functions']);
    const known = new KnownMessages<ChatFacts, never>(shared);
    const messages = list.items?.map((span, at) => new ChatMessage(bytes, span, this.kept, known.at(at, 1)));
    this.messages = messages ?? [];
    this.list = list;
    this.tooManyMessages = !list.items;
    this.answerTokens = this.limit('max_completion_tokens') ?? this.limit('max_tokens') ?? 0;
  }

  /** As gateways to Anthropic's API have them, or OpenAI's. */
  override get cacheMarks(): CacheMarks {
    return isClaude(this.model) ? CLAUDE_MARKS : OPENAI_MARKS;
  }

  override get hidesUsage(): boolean {
    const options = this.field(STREAM_OPTIONS) ?? {};
    return this.field('stream') === true && isObject(options) && options.include_usage !== true;
  }

  /**
   * Asks for the usage of the stream. New options are first, so that a longer array still begins
   * with the bytes of the request before.
   */
  usageSplices({ usage = false }: Pick<Additions, 'usage'>): Splice[] {
    if (!usage) return [];
    const json = JSON.stringify({ ...asObject(this.field(STREAM_OPTIONS)), include_usage: true });
    const value = fieldOf(this.root, STREAM_OPTIONS);
    if (value) return [{ start: value.start, end: value.end, with: json }];
    const at = this.root.start + 1;
    return [{ start: at, end: at, with: `"${STREAM_OPTIONS}":${json},` }];
  }

  get array(): ReadArray | undefined {
    if (this.tooManyMessages) return undefined;
    const messages = this.messages.map(({ facts }, first) => ({ first, length: 1, facts }));
    const { bytes, list } = this;
    return { protocol: 'chat', bytes, list, before: [], elements: [], messages };
  }

  /** Names of functions and custom tools. */
  get toolNames(): ReadonlySet<string> {
    const names = this.listedTools()
      .map(asObject)
      .flatMap((tool) => [asObject(tool.function).name, asObject(tool.custom).name]);
    return new Set(names.filter((name) => typeof name === 'string'));
  }

  /**
   * Not with several choices, since each would need its own rounds, and not with the deprecated
   * `functions`, which exclude `tools`.
   */
  get takesTools(): boolean {
    const isOne = (this.field('n') ?? 1) === 1;
    return (
      isOne && (this.given('tools')?.kind ?? 'array') === 'array' && this.given('functions') === undefined
    );
  }

  protected get answerForm(): unknown {
    return this.field('response_format');
  }

  /** The second is OpenRouter's. */
  protected get effort(): unknown {
    return this.field('reasoning_effort') ?? asObject(this.field('reasoning')).effort;
  }

  protected get verbosity(): unknown {
    return this.field('verbosity');
  }

  /** As strict as the caller's where the model may be of a server that refuses a mixture. */
  toolJson(tool: FunctionTool): string {
    this.areStrict ??= this.hasTools && !takesMixture(this.model) && this.listedTools().every(isStrict);
    return JSON.stringify(this.areStrict ? strictTool(tool) : tool);
  }

  write(
    view: View | undefined,
    { injected = [], tools = [], marks = 0, movesMark = false, thinkingFrom = 0, ...keys }: Additions = {},
    kept?: KnownStart,
  ): Uint8Array {
    const added = addTools(this.bytes, this.root, tools);
    const members = [...added.members, ...this.cacheKey(keys)];
    const splices = [
      ...this.keySplices(keys),
      ...this.usageSplices(keys),
      ...(injected.length > 0 ? [injectionSplice(this.messages, injected)] : []),
      ...added.splices,
      ...memberSplices(this.root, isOwnField, members),
      ...viewSplices(this, view, { marked: this.markedMessages(view, marks, movesMark), thinkingFrom }),
    ];
    return spliceBody(this.bytes, splices, kept);
  }
}

/**
 * OpenAI's and Anthropic's models take strict tools beside others. Cerebras and DeepSeek refuse
 * that. A strict tool has more tokens.
 */
function takesMixture(model: string | undefined): boolean {
  return model === undefined || /^(?:gpt-\d|o\d|claude)/i.test(baseName(model));
}

const isStrict = (tool: unknown): boolean => asObject(asObject(tool).function).strict === true;

/** Only the outline of a body is decoded; the upstream validates the messages themselves. */
export function readChatRequest(bytes: Uint8Array, shared?: SharedArray): Result<ChatRequest, BodyFault> {
  const scanned = scanBody(bytes, OUTLINE, shared);
  if (!scanned.ok) return scanned;
  const root = scanned.value;
  const messages = fieldOf(root, 'messages');
  if (!messages)
    return invalidMessages(
      'messages',
      'The field messages is missing; it must be an array of at least one message.',
    );
  if (messages.kind !== 'array' || messages.items?.length === 0)
    return invalidMessages('messages', 'The field messages must be an array of at least one message.');
  return { ok: true, value: new ChatRequest(bytes, root, messages, shared) };
}

/**
 * The view as a JSON array of messages, for `/v1/compact`. Messages that differ from the caller's
 * are marked.
 */
export function writeCompactedMessages(request: ChatRequest, view: View | undefined): Uint8Array {
  const messages = fieldOf(request.root, 'messages');
  if (!messages) throw new Error('a chat request without messages was read');
  return splice(request.bytes, messages, [
    ...viewSplices(request, view, { isCompacted: true }),
    ...newMarks(request, view),
  ]);
}

/**
 * The view in two parts: the leading preamble, and all other messages. Nothing is marked.
 *
 * @returns each message as JSON
 */
export function compactedParts(request: ChatRequest, view: View | undefined): ViewParts {
  const read = readChatRequest(request.write(view));
  if (!read.ok) throw new Error('a view was written that cannot be read');
  return splitPreamble(read.value.messages);
}

/** Marks on the messages of the view that are changed and have none. */
function newMarks(request: ChatRequest, view: View | undefined): Splice[] {
  return request.messages.flatMap((message, index) => {
    const isChanged = view?.removals.has(index) || openingOf(view, index) !== undefined;
    return isChanged && !view?.dropped.has(index) && !hasMark(request, message) ? addMark(message) : [];
  });
}

/** How a view is written. */
interface WrittenView {
  /** Whether it goes to the caller, who gets marks with what Precis has added. */
  readonly isCompacted?: boolean;
  /** The messages that get a mark of the prompt cache. */
  readonly marked?: readonly number[];
  /** See `Additions`. */
  readonly thinkingFrom?: number;
}

const NO_REMOVALS: readonly Removal[] = [];

function viewSplices(
  request: ChatRequest,
  view: View | undefined,
  { isCompacted = false, marked = [], thinkingFrom: from = 0 }: WrittenView,
): Splice[] {
  const newFields = isCompacted ? { [COMPACTED_MARK]: true } : {};
  const thinkingFrom = Math.max(from, view?.thinkingFrom ?? 0);
  const { summary, recap } = view ?? {};
  const replaced = view && replacedBySummary(view);
  const recapped = recap && request.messages[recap.after]?.span;
  const left = leaving(request.messages, view, thinkingFrom);
  const spans = left.size > 0 ? request.messages.map(({ span }) => span) : [];
  const splices = [
    // A cut at the end of the array may begin where the recap is put.
    ...(recap && recapped ? [recapSplice(recap, recapped.end, newFields)] : []),
    ...cutMembers(spans, (index) => left.has(index) && index !== replaced),
  ];
  for (const [index, message] of request.messages.entries()) {
    if (summary && index === replaced) {
      const { start, end } = message.span;
      splices.push({ start, end, with: summaryMessages(summary, newFields) });
    }
    if (left.has(index)) continue;
    const rounds = view?.rounds?.get(index);
    const removals = view?.removals.get(index) ?? NO_REMOVALS;
    const isCleared =
      removals.some(({ kind }) => kind === 'reasoning') ||
      (index < thinkingFrom && message.role === 'assistant');
    if (rounds) {
      const isWithout = index < thinkingFrom;
      const json = isWithout ? roundsWithoutThinking(rounds.json, 'messages') : rounds.json;
      splices.push(roundsSplice(message.span, json));
    }
    const repeated = rounds && repeatedFields(request.bytes, message.span, rounds.json, isCleared);
    splices.push(...(repeated?.splices ?? []));
    const losesMark = !isCompacted && hasMark(request, message);
    splices.push(...cutFields(request, message, { losesMark, isCleared, repeated }));
    const isMarked = marked.includes(index) && repeated?.isSilent !== true;
    const marks = isMarked ? request.cacheMarks : undefined;
    const opened = openingOf(view, index);
    // Most messages of a view are the caller's own.
    if (removals === NO_REMOVALS && !opened && !marks) continue;
    if (opened) splices.push(openingSplice(request.bytes, message, opened.text, opened.taken, 'text'));
    const inputs = removals.filter((removal) => removal.kind === 'input');
    const outputs = removals.filter((removal) => removal.kind === 'output');
    splices.push(...inputSplices(request, message, inputs));
    splices.push(
      ...outputs.map((removal) => outputSplice(request.bytes, message.contentSpan(), removal, PARTS, marks)),
    );
    if (marks && outputs.length === 0)
      splices.push(...markSplices(request.bytes, message.contentSpan(), 'text', marks));
    const parts = removals.filter((removal) => removal.kind === 'part');
    splices.push(...partSplices(request.bytes, message.contentSpan(), parts, 'text'));
  }
  return splices;
}

/** Clears the arguments of calls. */
function inputSplices(request: ChatRequest, message: ChatMessage, removals: readonly Removal[]): Splice[] {
  if (removals.length === 0) return [];
  const { start } = message.span;
  message.facts.inputs ??= inputsOf(request.bytes, message.span).map(
    (input) => input && { start: input.start - start, end: input.end - start },
  );
  const { inputs } = message.facts;
  return removals.map((removal) => {
    const input = inputs[removal.call];
    if (!input)
      throw new Error(`call ${removal.call} of message ${removal.message} has no arguments to clear`);
    return inputSplice(request.bytes, { start: start + input.start, end: start + input.end }, removal);
  });
}

/** What a message loses whole. */
interface LostFields {
  readonly losesMark: boolean;
  readonly isCleared: boolean;
  readonly repeated: RepeatedFields | undefined;
}

/** Cuts the mark of a message, its reasoning, and what rounds before it have whole. */
function cutFields(
  request: ChatRequest,
  message: ChatMessage,
  { losesMark, isCleared, repeated }: LostFields,
): Splice[] {
  if (!losesMark && !isCleared && !repeated?.fields.size) return [];
  const whole = within(request.bytes, message.span, levels(1));
  const fields = whole.fields ?? [];
  const isCut = (index: number): boolean =>
    (losesMark && fields[index]?.key === COMPACTED_MARK && isMark(request.bytes, fields[index]?.value)) ||
    repeated?.fields.has(fields[index]?.key ?? '') === true;
  // The content's own thinking is cut with what is repeated of it.
  return isCleared ? thinkingIn(request.bytes, whole, isCut, !repeated) : cutMembers(fields, isCut);
}

function hasMark(request: ChatRequest, message: ChatMessage): boolean {
  message.facts.isMarked ??= isMark(request.bytes, fieldOf(message.span, COMPACTED_MARK));
  return message.facts.isMarked;
}

function isMark(bytes: Uint8Array, value: JsonSpan | undefined): boolean {
  return value !== undefined && textOf(bytes, value) === 'true';
}

function addMark(message: ChatMessage): Splice[] {
  const other = fieldOf(message.span, COMPACTED_MARK);
  if (other) return [{ start: other.start, end: other.end, with: 'true' }];
  const end = message.span.end - 1;
  return [{ start: end, end, with: `,"${COMPACTED_MARK}":true` }];
}
