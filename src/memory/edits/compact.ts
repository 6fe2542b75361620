/** Compaction: old tool outputs, and on request the arguments of old calls, become placeholders. */
import type { History, Output, Unit } from '../history.ts';
import { TEXT_OBSERVATION } from '../history.ts';
import { Lru } from '../lru.ts';
import { type Content, jsonBytes, type Message } from '../message.ts';
import {
  type Digest,
  label,
  type Marker,
  parseClearedInput,
  parseMarker,
  parseObject,
  type RefNamer,
  writeClearedInput,
  writeMarker,
} from '../placeholder.ts';
import type { PreviewWriter } from '../preview.ts';
import { type CompactStrategy, LONGEST_PREVIEW } from '../strategy.ts';
import type { TokenCounter } from '../tokens.ts';
import type { Removal } from './removal.ts';

/** What the compactor needs from outside of the array. */
export interface CompactContext {
  readonly counter: TokenCounter;
  /** The tenant's refs; absent without a tenant. */
  readonly refs: RefNamer | undefined;
  /** Whether what is removed is kept under a ref. */
  readonly keep: boolean;
  readonly digest: Digest;
  readonly writer: PreviewWriter;
  readonly facts: ContentFacts;
}

/** What is known of a removable content without reading it again. */
interface Facts {
  readonly tokens: number;
  readonly bytes: number;
  readonly length: number;
  /** See `Content.room`. */
  readonly room: number;
  /** The marker that it begins with, when it has the form of one. */
  readonly marker: Marker | undefined;
  /** For arguments: whether they are a JSON object. */
  readonly object: boolean;
  /** Whether UTF-8 can hold it: half a surrogate pair would come back as another character. */
  readonly storable: boolean;
}

/** Facts by digest, for one isolate and encoding. */
export type ContentFacts = Lru<Facts>;

/** How many contents are remembered. */
const REMEMBERED = 20_000;

export function createContentFacts(): ContentFacts {
  return new Lru<Facts>(REMEMBERED);
}

const utf8 = new TextEncoder();

/**
 * The removals that compaction would make in a unit, whatever side of the frontier it stands on. A function of the unit and
 * of what stands before it.
 *
 * Nothing is removed for something longer, nothing twice, and nothing of a tool that the caller excluded.
 */
export function compactUnit(
  history: History,
  unit: Unit,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal[] {
  const outputs = unit.outputs.flatMap((output) => compactOutput(history, output, strategy, context) ?? []);
  if (!strategy.compact_clear_tool_inputs || unit.kind !== 'assistant') return outputs;
  return [...compactInputs(history, unit, strategy, context), ...outputs].sort(
    (a, b) => a.message - b.message,
  );
}

/** Something that may be removed, and what could stand in its place. */
interface Candidate extends Pick<Removal, 'kind' | 'message' | 'call' | 'tool' | 'callId' | 'content'> {
  /** Names the content. */
  readonly key: string;
  /** Its tokens. */
  readonly count: () => number;
  /** What could stand there, best first. */
  readonly replacements: (marker: MarkerStart, facts: Facts) => readonly string[];
}

type MarkerStart = Pick<Marker, 'tool' | 'call' | 'reason' | 'ref'>;

function compactOutput(
  history: History,
  output: Output,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal | undefined {
  const message = messageAt(history, output.message);
  const content = () => message.content();
  const previewTokens = strategy.compact_preview_tokens;
  const candidate: Candidate = {
    kind: 'output',
    message: output.message,
    call: -1,
    tool: output.call?.name ?? TEXT_OBSERVATION,
    callId: output.call?.id ?? 'none',
    content,
    key: `${message.digest}:output`,
    count: () => context.counter.content(message),
    replacements: (marker, { tokens }) => {
      const line = writeMarker({
        ...marker,
        kind: 'tool output',
        ...(marker.ref === undefined ? {} : { tokens }),
      });
      if (previewTokens === 0) return [line];
      // A preview that makes the placeholder too long is left out before the removal is given up.
      const preview = context.writer.write(output.message, () => content().text, previewTokens);
      return preview === '' ? [line] : [`${line}\n${preview}`, line];
    },
  };
  return remove(candidate, strategy, context);
}

function compactInputs(
  history: History,
  unit: Unit,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal[] {
  const message = messageAt(history, unit.first);
  return message.calls.flatMap(({ id, name, input }, index) => {
    const candidate: Candidate = {
      kind: 'input',
      message: unit.first,
      call: index,
      tool: name,
      callId: id,
      content: () => ({
        text: input,
        type: 'application/json',
        weight: { texts: [input], flat: 0 },
        room: () => jsonBytes(input),
      }),
      key: `${message.digest}:input:${index}`,
      count: () => context.counter.text(input),
      // Arguments that were no JSON object to begin with are the model's own, and stay as they are.
      replacements: (marker, { object }) =>
        object ? [writeClearedInput({ ...marker, kind: 'tool input' })] : [],
    };
    return remove(candidate, strategy, context) ?? [];
  });
}

function remove(
  candidate: Candidate,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal | undefined {
  const { counter, digest, refs } = context;
  const { key, count, replacements, ...removed } = candidate;
  if (!mayCompact(removed.tool, strategy)) return undefined;
  const facts = context.facts.remember(key, () => readFacts(removed.content(), count()));
  if (!facts.storable || facts.tokens < strategy.compact_min_tokens) return undefined;
  const labels = { tool: label(removed.tool, digest), call: label(removed.callId, digest) };
  if (isEcho(facts, labels, strategy, context)) return undefined;

  const ref = context.keep && refs && { ref: refs.name(key, () => removed.content().text) };
  const marker: MarkerStart = { ...labels, reason: 'context_compaction', ...(ref || {}) };
  const replacement = replacements(marker, facts).find((text) => isShorter(text, facts, counter));
  if (replacement === undefined) return undefined;
  const { tokens, bytes } = facts;
  return {
    ...removed,
    ...(ref || {}),
    tokens,
    bytes,
    replacement,
    freed: tokens - counter.marker(replacement),
  };
}

/** Include wins over exclude; an empty list is none (design §3). */
function mayCompact(tool: string, strategy: CompactStrategy): boolean {
  if (strategy.compact_include_tools.length > 0) return strategy.compact_include_tools.includes(tool);
  return !strategy.compact_exclude_tools.includes(tool);
}

function readFacts(content: Content, tokens: number): Facts {
  const { text, type } = content;
  return {
    tokens,
    bytes: utf8.encode(text).length,
    length: text.length,
    room: content.room(),
    marker: parseMarker(text) ?? parseClearedInput(text),
    storable: text.isWellFormed(),
    object:
      type === 'application/json' && text.trimStart().startsWith('{') && parseObject(text) !== undefined,
  };
}

/** What follows a marker at greater length than any preview is something else. In tokens; previews may have LONGEST_PREVIEW. */
const LONGEST_ECHO = 2 * LONGEST_PREVIEW;

/**
 * Whether the content is a placeholder of ours that has come back: for this call, and under a ref of this tenant. Where nobody can
 * check a ref, since there is no tenant or the strategy writes none, it is enough that it has the form of one for this call.
 */
function isEcho(
  facts: Facts,
  labels: { tool: string; call: string },
  strategy: CompactStrategy,
  context: CompactContext,
): boolean {
  const { marker } = facts;
  if (!marker || marker.tool !== labels.tool || marker.call !== labels.call) return false;
  const preview = facts.tokens - context.counter.marker(writeMarker(marker));
  if (marker.ref !== undefined && preview <= LONGEST_ECHO) return context.refs?.owns(marker.ref) ?? true;
  const writesRefs = context.keep && context.refs !== undefined;
  return marker.ref === undefined && !writesRefs && preview <= strategy.compact_preview_tokens;
}

/** Shorter by every measure that anybody could take: characters, bytes on the wire, tokens. */
function isShorter(text: string, facts: Facts, counter: TokenCounter): boolean {
  return text.length < facts.length && jsonBytes(text) < facts.room && counter.marker(text) < facts.tokens;
}

function messageAt(history: History, index: number): Message {
  const message = history.messages[index];
  if (!message) throw new Error(`no message ${index} in this history`);
  return message;
}
