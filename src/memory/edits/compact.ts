/** Compaction: old tool outputs, and on request the arguments of old calls, become placeholders. */
import type { History, Output, Unit } from '../history.ts';
import { TEXT_OBSERVATION } from '../history.ts';
import { Lru } from '../lru.ts';
import type { Content, Message, ToolCall } from '../message.ts';
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
import type { CompactStrategy } from '../strategy.ts';
import type { TokenCounter } from '../tokens.ts';
import type { Removal } from './removal.ts';

/** What the compactor needs from outside of the array. */
export interface CompactContext {
  readonly counter: TokenCounter;
  /** Names refs; absent when nothing is to be kept. */
  readonly refs: RefNamer | undefined;
  readonly digest: Digest;
  readonly writer: PreviewWriter;
  readonly facts: ContentFacts;
}

/** What is known of a removable content without reading it again. */
interface Facts {
  readonly tokens: number;
  readonly bytes: number;
  readonly length: number;
  /** The marker that it begins with, when it has the form of one. */
  readonly marker: Marker | undefined;
  /** For arguments: whether they are a JSON object. */
  readonly object: boolean;
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

function compactOutput(
  history: History,
  output: Output,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal | undefined {
  const message = messageAt(history, output.message);
  const tool = output.call?.name ?? TEXT_OBSERVATION;
  if (!mayCompact(tool, strategy)) return undefined;
  const callId = output.call?.id ?? 'none';
  const key = `${message.digest}:output`;
  const content = () => message.content();
  const facts = context.facts.remember(key, () => readFacts(content(), context.counter));
  const labels = { tool: label(tool, context.digest), call: label(callId, context.digest) };
  if (facts.tokens < strategy.compact_min_tokens || isEcho(facts, labels, strategy, context))
    return undefined;

  const ref = context.refs?.name(key, () => content().text);
  const line = writeMarker({
    kind: 'tool output',
    ...labels,
    reason: 'context_compaction',
    ...(ref === undefined ? {} : { ref, tokens: facts.tokens }),
  });
  const preview =
    strategy.compact_preview_tokens > 0
      ? context.writer.write(output.message, () => content().text, strategy.compact_preview_tokens)
      : '';
  // A preview that makes the placeholder too long is left out before the removal is given up.
  const replacement = [preview === '' ? line : `${line}\n${preview}`, line].find((text) =>
    isShorter(text, facts, context.counter),
  );
  if (replacement === undefined) return undefined;
  return {
    kind: 'output',
    message: output.message,
    call: -1,
    tool,
    callId,
    ...(ref === undefined ? {} : { ref }),
    content,
    tokens: facts.tokens,
    bytes: facts.bytes,
    replacement,
    freed: facts.tokens - context.counter.marker(replacement),
  };
}

function compactInputs(
  history: History,
  unit: Unit,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal[] {
  const message = messageAt(history, unit.first);
  return message.calls.flatMap(
    (call, index) => compactInput(message, unit.first, call, index, strategy, context) ?? [],
  );
}

function compactInput(
  message: Message,
  position: number,
  call: ToolCall,
  index: number,
  strategy: CompactStrategy,
  context: CompactContext,
): Removal | undefined {
  if (!mayCompact(call.name, strategy)) return undefined;
  const key = `${message.digest}:input:${index}`;
  const content = (): Content => ({
    text: call.input,
    type: 'application/json',
    weight: { texts: [call.input], flat: 0 },
  });
  const facts = context.facts.remember(key, () => readFacts(content(), context.counter));
  const labels = { tool: label(call.name, context.digest), call: label(call.id, context.digest) };
  // Arguments that were no JSON object to begin with are the model's own, and stay as they are.
  if (!facts.object || facts.tokens < strategy.compact_min_tokens) return undefined;
  if (isEcho(facts, labels, strategy, context)) return undefined;

  const ref = context.refs?.name(key, () => call.input);
  const replacement = writeClearedInput({
    kind: 'tool input',
    ...labels,
    reason: 'context_compaction',
    ...(ref === undefined ? {} : { ref }),
  });
  if (!isShorter(replacement, facts, context.counter)) return undefined;
  return {
    kind: 'input',
    message: position,
    call: index,
    tool: call.name,
    callId: call.id,
    ...(ref === undefined ? {} : { ref }),
    content,
    tokens: facts.tokens,
    bytes: facts.bytes,
    replacement,
    freed: facts.tokens - context.counter.marker(replacement),
  };
}

/** Include wins over exclude; an empty list is none (design §3). */
function mayCompact(tool: string, strategy: CompactStrategy): boolean {
  if (strategy.compact_include_tools.length > 0) return strategy.compact_include_tools.includes(tool);
  return !strategy.compact_exclude_tools.includes(tool);
}

function readFacts(content: Content, counter: TokenCounter): Facts {
  const { text, type, weight } = content;
  return {
    tokens: weight.texts.reduce((sum, part) => sum + counter.text(part), weight.flat),
    bytes: utf8.encode(text).length,
    length: text.length,
    marker: parseMarker(text) ?? parseClearedInput(text),
    object:
      type === 'application/json' && text.trimStart().startsWith('{') && parseObject(text) !== undefined,
  };
}

/**
 * Whether the content is a placeholder of ours that has come back: for this call, under a ref of this tenant. Without a ref
 * there is nothing to check, so such a line counts only where the strategy writes such lines, for the same call, and when no
 * more follows it than a preview may have.
 */
function isEcho(
  facts: Facts,
  labels: { tool: string; call: string },
  strategy: CompactStrategy,
  context: CompactContext,
): boolean {
  const { marker } = facts;
  if (!marker || marker.tool !== labels.tool || marker.call !== labels.call) return false;
  if (marker.ref !== undefined) return context.refs?.owns(marker.ref) ?? false;
  const line = context.counter.marker(writeMarker(marker));
  return context.refs === undefined && facts.tokens <= line + strategy.compact_preview_tokens;
}

function isShorter(text: string, facts: Facts, counter: TokenCounter): boolean {
  return text.length < facts.length && counter.marker(text) < facts.tokens;
}

function messageAt(history: History, index: number): Message {
  const message = history.messages[index];
  if (!message) throw new Error(`no message ${index} in this history`);
  return message;
}
