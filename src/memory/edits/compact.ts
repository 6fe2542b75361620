/**
 * Compaction: replaces old tool outputs, and optionally the arguments of old calls, by
 * placeholders.
 */
import { copyOf, textBytes } from '../../lib/copy.ts';
import { elementAt } from '../../lib/elements.ts';
import type { Cache } from '../../lib/lru.ts';
import type { History, Output, Unit } from '../conversation/history.ts';
import { type Content, inputsOf, jsonBytes, type Message, type ToolCall } from '../conversation/message.ts';
import type { Digest, RefNamer } from '../conversation/refs.ts';
import { type CompactSettings, LONGEST_PREVIEW } from '../strategy/fields.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { longestDigested } from './output-digest.ts';
import {
  label,
  type Marker,
  type MarkerReason,
  NO_CALL,
  parseClearedInput,
  parseMarker,
  parseOffloaded,
  TEXT_OBSERVATION,
  writeClearedInput,
  writeMarker,
} from './placeholder.ts';
import { MOST_TOKENS, type PreviewWriter, previewTokens } from './preview.ts';
import { type Removal, type RemovalSettings, removalsUnder } from './removal.ts';

/** What compaction needs: the array, the strategy for it, and services. */
export interface CompactContext<Strategy extends CompactSettings = CompactSettings> {
  readonly history: History;
  readonly strategy: Strategy;
  readonly counter: TokenCounter;
  /** The tenant's refs; undefined without a tenant. */
  readonly refs: RefNamer | undefined;
  /** Whether removed content is stored under a ref. */
  readonly keep: boolean;
  /** See `PlanContext`. */
  readonly unedited?: ReadonlySet<string> | undefined;
  readonly digest: Digest;
  readonly writer: PreviewWriter;
  readonly facts: ContentFacts;
  /** What its removals depend on, apart from the array. */
  readonly settings: RemovalSettings;
}

/** Cached facts about a removable content. */
export interface Facts {
  readonly tokens: number;
  readonly bytes: number;
  readonly length: number;
  /** See `Content.room`. */
  readonly room: number;
  /** The marker at its beginning, if it has a marker's form. */
  readonly marker: Marker | undefined;
  /** See `Content`. */
  readonly item?: string;
  /** Whether UTF-8 can hold it: half a surrogate pair would come back as another character. */
  readonly storable: boolean;
  /** Equal contents have equal names. */
  readonly name: string;
  /** End of its head and start of its tail, if it was offloaded. */
  ends?: { readonly head: number; readonly tail: number };
}

/** Facts by digest, for one owner and encoding. */
export type ContentFacts = Cache<Facts>;

/** Bytes of the numbers and flags in `Facts`. */
const FACTS_BYTES = 160;

/** Bytes of facts in a cache. */
export function sizeOfFacts({ name, marker }: Facts): number {
  return (
    FACTS_BYTES + textBytes(name) + (marker ? textBytes(`${marker.tool}${marker.call}${marker.ref}`) : 0)
  );
}

const utf8 = new TextEncoder();

/**
 * The removals that compaction would make in a unit, wherever the frontier is. A function of the
 * unit and of the messages before it.
 *
 * No replacement is longer than the original, nothing is removed twice, and tools that the caller
 * excluded are left alone.
 */
export function compactUnit(unit: Unit, context: CompactContext): Removal[] {
  const outputs = unit.outputs.flatMap((output) => compactOutput(output, context) ?? []);
  return [...compactInputs(unit, context), ...outputs].sort((a, b) => a.message - b.message);
}

/** Something that may be removed, and its possible replacements. */
export interface RemovalCandidate extends Pick<Removal, 'message' | 'call' | 'tool' | 'callId'> {
  readonly kind: Exclude<Removal['kind'], 'reasoning'>;
  readonly reason: MarkerReason;
  readonly content: () => Content;
  /** Identifies the content. */
  readonly key: string;
  /** Contents with fewer tokens stay. */
  readonly least: number;
  /** Its tokens. */
  readonly count: () => number;
  /** Possible replacements, best first. */
  readonly replacements: (marker: MarkerStart, facts: Facts) => readonly string[];
  /** The marker's line, if a model's words may be below it instead. */
  readonly digestLine?: ((marker: MarkerStart, facts: Facts) => string) | undefined;
}

type MarkerStart = Pick<Marker, 'tool' | 'call' | 'reason' | 'ref'>;

/**
 * The removal of a tool output.
 *
 * @param least tokens of the smallest output that is removed
 */
export function compactOutput(
  output: Output,
  context: CompactContext,
  reason: MarkerReason = 'context_compaction',
  least: number = context.strategy.compact_min_tokens,
): Removal | undefined {
  const message = elementAt(context.history.messages, output.message);
  return removeOnce(`${reason} ${least}`, message, context, () => ({
    ...candidateOf(output, message, context),
    reason,
    least,
    replacements: (marker, facts) => {
      const write = (most: number) =>
        context.writer.write(output.message, () => message.content().text, most);
      return previewed(outputLine(output, marker, facts), context, facts, write);
    },
  }));
}

/**
 * The possible placeholders of a content: its line with a preview, and alone.
 *
 * @param write the preview of this many tokens
 */
export function previewed(
  line: string,
  { strategy }: CompactContext,
  { tokens }: Pick<Facts, 'tokens'>,
  write: (most: number) => string,
): string[] {
  const most = previewTokens(strategy.compact_preview_tokens, tokens);
  const preview = most === 0 ? '' : write(most);
  // If the preview makes the placeholder too long, it is left out.
  return preview === '' ? [line] : [`${line}\n${preview}`, line];
}

/**
 * A removal that is computed once for a message at its place.
 *
 * @param name of the removal among the message's
 */
export function remembered(
  name: string,
  { facts }: Message,
  { settings }: CompactContext,
  make: () => Removal | undefined,
): Removal | undefined {
  const { byName } = removalsUnder(settings, facts);
  const known = byName.get(name);
  if (known !== undefined) return known ?? undefined;
  const removal = make();
  byName.set(name, removal ?? null);
  return removal;
}

/** The same for a candidate; undefined if there is none. */
export function removeOnce(
  name: string,
  message: Message,
  context: CompactContext,
  candidate: () => RemovalCandidate | undefined,
): Removal | undefined {
  return remembered(name, message, context, () => {
    const found = candidate();
    return found && remove(found, context);
  });
}

/** The fields that all removals of a tool output share. */
export function candidateOf(
  output: Output,
  message: Message,
  { counter }: CompactContext,
): Omit<RemovalCandidate, 'reason' | 'least' | 'replacements'> {
  return {
    kind: 'output',
    message: output.message,
    call: -1,
    tool: output.call?.name ?? TEXT_OBSERVATION,
    callId: output.call?.id ?? NO_CALL,
    content: () => message.content(),
    key: outputKey(message),
    count: () => counter.content(message),
  };
}

export function outputLine({ call }: Output, marker: MarkerStart, { tokens }: Pick<Facts, 'tokens'>): string {
  const kind = call ? 'tool output' : 'observation';
  return writeMarker({ ...marker, kind, tokens });
}

/** A name of the output's content: equal contents have equal names. */
export function contentName(message: Message, context: CompactContext): string {
  message.facts.outputName ??= outputFacts(message, context).name;
  return message.facts.outputName;
}

/** The ref in the marker at an output's beginning, if it is of this tenant. */
export function ownMarkerRef(message: Message, context: CompactContext): string | undefined {
  const ref = outputFacts(message, context).marker?.ref;
  return ref !== undefined && context.refs?.owns(ref) ? ref : undefined;
}

function outputFacts(message: Message, { counter, digest, facts }: CompactContext): Facts {
  const read = () => readFacts(message.content(), counter.content(message), digest);
  return facts.remember(outputKey(message), read);
}

/** The ref of a tool output's content. Equal contents have equal refs. */
export function outputRef(message: Message, refs: RefNamer): string {
  return refs.name(outputKey(message), () => message.content().text);
}

function outputKey(message: Message): string {
  return `${message.digest}:output`;
}

/**
 * The removals of a unit's call arguments, if the strategy clears them.
 *
 * @param least tokens of the smallest arguments that are removed
 */
export function compactInputs(
  unit: Unit,
  context: CompactContext,
  least: number = context.strategy.compact_min_tokens,
): Removal[] {
  return context.strategy.compact_clear_tool_inputs ? clearedInputs(unit, context, least) : [];
}

/** The same, whether the strategy clears all of them or not. */
export function clearedInputs(unit: Unit, context: CompactContext, least: number): Removal[] {
  if (unit.kind !== 'assistant') return [];
  const message = elementAt(context.history.messages, unit.first);
  // A plan has counted its tokens, and the tokens of its arguments are among them.
  if (context.counter.message(message) < least) return [];
  return inputsOf(message).flatMap((made, index) => {
    const { id, name, form } = made;
    if (form === 'fixed') return [];
    const removal = removeOnce(`input ${index} ${least}`, message, context, () => ({
      kind: 'input',
      reason: 'context_compaction',
      least,
      message: unit.first,
      call: index,
      tool: name,
      callId: id,
      content: () => inputContent(made),
      key: `${message.digest}:input:${index}`,
      count: () => context.counter.text(clearedText(made)),
      replacements: (marker) => {
        const write = form === 'text' ? writeMarker : writeClearedInput;
        return [write({ ...marker, kind: 'tool input' })];
      },
    }));
    return removal ?? [];
  });
}

/** The arguments of a call that may be cleared, as a content. */
export function inputContent(call: ToolCall): Content {
  const text = clearedText(call);
  return {
    text,
    type: call.form === 'text' ? 'text/plain; charset=utf-8' : 'application/json',
    weight: { texts: [text], flat: 0 },
    room: () => jsonBytes(text),
  };
}

function clearedText({ input, body = input }: ToolCall): string {
  return body;
}

/** The removal of a candidate; undefined if it must stay, or if no replacement is shorter. */
export function remove(candidate: RemovalCandidate, context: CompactContext): Removal | undefined {
  const { counter, digest, refs, strategy } = context;
  const { key, content, count, replacements, least, digestLine, ...removed } = candidate;
  // Tool lists don't apply to content that users sent.
  if (removed.kind !== 'part' && !mayCompact(removed.tool, strategy)) return undefined;
  // Most arguments are short: nothing more is asked of them.
  const counted = count();
  if (counted < least) return undefined;
  const facts = context.facts.remember(key, () => readFacts(content(), counted, digest));
  const { item } = facts;
  if (!facts.storable) return undefined;
  if (item !== undefined && context.unedited?.has(item)) return undefined;
  const labels = { tool: label(removed.tool, digest), call: label(removed.callId, digest) };
  if (isEcho(facts, labels, context)) return undefined;

  const ref = context.keep && refs && { ref: refs.name(key, () => content().text) };
  const marker: MarkerStart = { ...labels, reason: removed.reason, ...(ref || {}) };
  const replacement = replacements(marker, facts).find((text) => isShorter(text, facts, counter));
  if (replacement === undefined) return undefined;
  const { tokens, bytes, length, room } = facts;
  const freed = tokens - counter.marker(replacement);
  const kept = { ...(ref || {}), ...(item === undefined ? {} : { item }) };
  const made = { ...removed, ...kept, tokens, bytes, replacement };
  if (!digestLine) return { ...made, freed };
  const line = digestLine(marker, facts);
  const left = Math.min(freed, tokens - longestDigested(line, counter));
  if (left <= 0) return { ...made, freed };
  const unused = tokens - left - Math.min(counter.marker(line), tokens - freed);
  return { ...made, freed: left, digest: { line, length, room, unused } };
}

/**
 * `compact_include_tools` takes precedence; an empty list means no list
 * (docs/strategy-reference.md#compact).
 */
function mayCompact(tool: string, strategy: CompactSettings): boolean {
  if (strategy.compact_include_tools.length > 0) return strategy.compact_include_tools.includes(tool);
  return !strategy.compact_exclude_tools.includes(tool);
}

function readFacts(content: Content, tokens: number, digest: Digest): Facts {
  const { text, item } = content;
  return {
    tokens,
    ...(item === undefined ? {} : { item }),
    bytes: utf8.encode(text).length,
    length: text.length,
    room: content.room(),
    marker: ownMarker(parseMarker(text) ?? parseClearedInput(text) ?? parseOffloaded(text)),
    name: digest(text),
    storable: text.isWellFormed(),
  };
}

/** A marker with copied strings, so that it does not keep its text alive. */
function ownMarker(marker: Marker | undefined): Marker | undefined {
  return (
    marker && {
      ...marker,
      tool: copyOf(marker.tool),
      call: copyOf(marker.call),
      ...(marker.ref === undefined ? {} : { ref: copyOf(marker.ref) }),
    }
  );
}

/** Shorter by every measure: characters, bytes on the wire, tokens. */
function isShorter(text: string, facts: Facts, counter: TokenCounter): boolean {
  return text.length < facts.length && jsonBytes(text) < facts.room && counter.marker(text) < facts.tokens;
}

/** In tokens. A marker with more text after it than twice the longest preview is not Precis's. */
const LONGEST_ECHO = 2 * LONGEST_PREVIEW;
/**
 * The same for an offloaded output, with its head, its tail and a preview of up to four times the
 * length.
 */
const LONGEST_OFFLOADED = 5 * LONGEST_PREVIEW;

/**
 * Whether the content is one of our placeholders, sent back: for this call, and with a ref of this
 * tenant. If no ref can be checked, because there is no tenant or the strategy writes none, the
 * form and the call are enough.
 */
function isEcho(
  { marker, tokens }: Facts,
  labels: Pick<Marker, 'tool' | 'call'>,
  { counter, refs, keep, strategy }: CompactContext,
): boolean {
  if (!marker || marker.tool !== labels.tool || marker.call !== labels.call) return false;
  const preview = tokens - counter.marker(writeMarker(marker));
  const longest = marker.reason === 'offloaded' ? LONGEST_OFFLOADED : LONGEST_ECHO;
  if (marker.ref !== undefined && preview <= longest) return refs?.owns(marker.ref) ?? true;
  const writesRefs = keep && refs !== undefined;
  return (
    marker.ref === undefined && !writesRefs && preview <= (strategy.compact_preview_tokens ?? MOST_TOKENS)
  );
}
