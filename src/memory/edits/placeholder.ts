/**
 * Markers: the line that replaces removed content (docs/design.md#markers).
 *
 *     ⟦removed: tool output for search (call_id=call_1); reason=context_compaction; ref=ref_…; tokens=5012⟧
 *     ⟦removed: observation; reason=context_compaction; ref=ref_…; tokens=5012⟧
 *
 * A marker in the caller's array is recognized by the check characters of its ref, which only
 * Precis can make. Text that merely looks like a marker is ordinary content.
 */
import { parseObject } from '../../lib/json.ts';
import { type Digest, MARKER_START } from '../conversation/refs.ts';
import { isReason, type RemovalReason } from './fates.ts';

/** The kinds of content that a marker replaces. An observation is the output of no call. */
type MarkerKind = 'tool output' | 'tool input' | 'observation' | 'image' | 'file';

/** What is used instead of the tool's name and the call's id where an observation has none. */
export const TEXT_OBSERVATION = 'text_observation';
export const NO_CALL = 'none';

/** Reasoning leaves without a marker. */
export type MarkerReason = Exclude<RemovalReason, 'old_reasoning' | 'bound_thinking'>;

export interface Marker {
  readonly kind: MarkerKind;
  /** The tool's name and the call's id, as labels (see `label`). */
  readonly tool: string;
  readonly call: string;
  readonly reason: MarkerReason;
  readonly ref?: string;
  /** Tokens of the removed content. Absent in markers of inputs, and in lines without a ref. */
  readonly tokens?: number;
}

const SAFE_LABEL = /^[A-Za-z0-9_.:-]{1,64}$/;

const CALL_KINDS = ['tool output', 'tool input'] as const;

const MARKER_LINE =
  /^⟦removed: (?:(tool output|tool input) for ([A-Za-z0-9_.:-]{1,64}) \(call_id=([A-Za-z0-9_.:-]{1,64})\)|observation); reason=([a-z_]+)(?:; ref=(ref_[a-z2-7]{26}))?(?:; tokens=(\d+))?⟧$/;

/** The key in cleared arguments. */
const REMOVED_KEY = '_removed';

/**
 * A tool's name or a call's id in a marker. If it is long or has special characters, its digest is
 * used, since the caller's text must not be able to end the marker.
 */
export function label(text: string, digest: Digest): string {
  return SAFE_LABEL.test(text) ? text : `hash_${digest(text).slice(0, 16)}`;
}

/** The marker's line. It names tokens only where a ref leads to them. */
export function writeMarker(marker: Marker): string {
  const { kind, tool, call, reason, ref, tokens } = marker;
  const what = kind === 'observation' ? kind : `${kind} for ${tool} (call_id=${call})`;
  const where = `${MARKER_START}${what}; reason=${reason}`;
  if (ref === undefined) return `${where}⟧`;
  return tokens === undefined ? `${where}; ref=${ref}⟧` : `${where}; ref=${ref}; tokens=${tokens}⟧`;
}

/** The line that replaces trimmed messages, with a ref if they are stored. */
export function writeTrimLine(
  [first, last]: readonly [number, number],
  kept?: { readonly ref: string; readonly tokens: number },
): string {
  const where = `${MARKER_START}messages ${first}-${last}; reason=trimmed`;
  return kept ? `${where}; ref=${kept.ref}; tokens=${kept.tokens}⟧` : `${where}⟧`;
}

function isMarkerReason(text: string): text is MarkerReason {
  return isReason(text) && text !== 'old_reasoning' && text !== 'bound_thinking';
}

/** The marker on the first line of a text. Its ref is not checked. */
export function parseMarker(text: string): Marker | undefined {
  if (!text.startsWith(MARKER_START)) return undefined;
  const end = text.indexOf('\n');
  const match = MARKER_LINE.exec(end < 0 ? text : text.slice(0, end));
  if (!match) return undefined;
  const [, kind, tool = TEXT_OBSERVATION, call = NO_CALL, reason, ref, tokens] = match;
  if (reason === undefined || !isMarkerReason(reason)) return undefined;
  return {
    kind: CALL_KINDS.find((each) => each === kind) ?? 'observation',
    tool,
    call,
    reason,
    ...(ref === undefined ? {} : { ref }),
    ...(tokens === undefined ? {} : { tokens: Number(tokens) }),
  };
}

/** The marker between head and tail of an offloaded output. Its ref is not checked. */
export function parseOffloaded(text: string): Marker | undefined {
  const found = new RegExp(`^${MARKER_START}.{0,300}; reason=offloaded;.{0,100}⟧$`, 'm').exec(text);
  return found ? parseMarker(found[0]) : undefined;
}

/** The arguments that replace cleared ones: a JSON object, since upstreams parse arguments. */
export function writeClearedInput(marker: Marker): string {
  return JSON.stringify({ [REMOVED_KEY]: writeMarker(marker) });
}

/** In characters. Cleared arguments are shorter, whatever their labels. */
const LONGEST_CLEARED = 1_000;

/** The marker in cleared arguments. Its ref is not checked. */
export function parseClearedInput(input: string): Marker | undefined {
  if (input.length > LONGEST_CLEARED || !input.includes(MARKER_START)) return undefined;
  const value = parseObject(input);
  const marker = value?.[REMOVED_KEY];
  return typeof marker === 'string' && Object.keys(value ?? {}).length === 1
    ? parseMarker(marker)
    : undefined;
}
