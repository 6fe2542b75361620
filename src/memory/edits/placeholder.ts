/**
 * Markers: the line that stands where something was removed (docs/design.md#markers).
 *
 *     ⟦removed: tool output for search (call_id=call_1); reason=context_compaction; ref=ref_…; tokens=5012⟧
 *
 * A marker that comes back in the caller's array is recognised by the check characters of its ref,
 * which only Precis can make. Text that merely looks like a marker is ordinary content.
 */

/** What a marker may stand for. */
export type MarkerKind = 'tool output' | 'tool input' | 'image' | 'file';

/**
 * Why it stands there: its content was old; large; identical to a later one; or the same call was
 * made again later.
 */
export type MarkerReason = (typeof REASONS)[number];

const REASONS = ['context_compaction', 'offloaded', 'duplicate', 'superseded'] as const;

export interface Marker {
  readonly kind: MarkerKind;
  /** Name of the tool and id of the call, as labels (see `label`). */
  readonly tool: string;
  readonly call: string;
  readonly reason: MarkerReason;
  readonly ref?: string;
  /** Tokens of what was removed. Stands only in markers of outputs, and only beside a ref. */
  readonly tokens?: number;
}

/** Names refs for one tenant. */
export interface RefNamer {
  /**
   * The ref of a content: equal contents have one ref. `key` names the content, so that it need not
   * be read again.
   */
  name(key: string, content: () => string): string;
  /** Whether the check characters are those of this tenant. Needs no I/O. */
  owns(ref: string): boolean;
}

/** A short digest of a text, for labels. */
export type Digest = (text: string) => string;

/** A ref as written: 20 characters of content, 6 of check (docs/design.md#7-storage). */
export const REF_PATTERN = /^ref_[a-z2-7]{26}$/;

const ANY_REF = new RegExp(REF_PATTERN.source.replace(/[$^]/g, ''), 'g');

/**
 * What in a text has the form of a ref, each once, in its order.
 *
 * @param most where the search ends
 */
export function refsIn(text: string, most = Number.POSITIVE_INFINITY): string[] {
  const found = new Set<string>();
  for (const [ref] of text.matchAll(ANY_REF)) {
    found.add(ref);
    if (found.size >= most) break;
  }
  return [...found];
}

const SAFE_LABEL = /^[A-Za-z0-9_.:-]{1,64}$/;

const MARKER_LINE =
  /^⟦removed: (tool output|tool input) for ([A-Za-z0-9_.:-]{1,64}) \(call_id=([A-Za-z0-9_.:-]{1,64})\); reason=([a-z_]+)(?:; ref=(ref_[a-z2-7]{26}))?(?:; tokens=(\d+))?⟧$/;

/** Where every marker begins; a content that begins otherwise need not be parsed. */
export const MARKER_START = '⟦removed: ';

/** The key of the object that stands for cleared arguments. */
const REMOVED_KEY = '_removed';

/**
 * A tool's name or a call's id as it may stand in a marker: itself when it is short and plain, else
 * its digest, since a name is the caller's text and must not be able to end the marker.
 */
export function label(text: string, digest: Digest): string {
  return SAFE_LABEL.test(text) ? text : `hash_${digest(text).slice(0, 16)}`;
}

/** The marker's line. */
export function writeMarker(marker: Marker): string {
  const { kind, tool, call, reason, ref, tokens } = marker;
  const where = `${MARKER_START}${kind} for ${tool} (call_id=${call}); reason=${reason}`;
  if (ref === undefined) return `${where}⟧`;
  return tokens === undefined ? `${where}; ref=${ref}⟧` : `${where}; ref=${ref}; tokens=${tokens}⟧`;
}

const TRIM_LINE =
  /^⟦removed: messages \d+-\d+; reason=trimmed(?:; ref=(ref_[a-z2-7]{26}); tokens=\d+)?⟧(?:\n\n|$)/;

/**
 * The line that stands for messages which left the view. Without a ref it says no more than that
 * they did.
 */
export function writeTrimLine(
  [first, last]: readonly [number, number],
  kept?: { readonly ref: string; readonly tokens: number },
): string {
  const where = `${MARKER_START}messages ${first}-${last}; reason=trimmed`;
  return kept ? `${where}; ref=${kept.ref}; tokens=${kept.tokens}⟧` : `${where}⟧`;
}

/**
 * The ref in such a line at the beginning of a text, unchecked, and the line's length with what
 * parts it from the rest.
 */
export function parseTrimLine(text: string): { readonly ref: string; readonly length: number } | undefined {
  const [whole, ref] = TRIM_LINE.exec(text) ?? [];
  return whole === undefined || ref === undefined ? undefined : { ref, length: whole.length };
}

/** The marker on the first line of a text. It is only well-formed: nobody has checked its ref. */
export function parseMarker(text: string): Marker | undefined {
  if (!text.startsWith(MARKER_START)) return undefined;
  const end = text.indexOf('\n');
  const match = MARKER_LINE.exec(end < 0 ? text : text.slice(0, end));
  if (!match) return undefined;
  const [, kind, tool = '', call = '', reason, ref, tokens] = match;
  const known = REASONS.find((name) => name === reason);
  if (known === undefined) return undefined;
  return {
    kind: kind === 'tool input' ? 'tool input' : 'tool output',
    tool,
    call,
    reason: known,
    ...(ref === undefined ? {} : { ref }),
    ...(tokens === undefined ? {} : { tokens: Number(tokens) }),
  };
}

/** The marker of an offloaded output, which stands between its head and its tail; unchecked. */
export function parseOffloaded(text: string): Marker | undefined {
  const found = new RegExp(`^${MARKER_START}.{0,300}; reason=offloaded;.{0,100}⟧$`, 'm').exec(text);
  return found ? parseMarker(found[0]) : undefined;
}

/**
 * Arguments that stand for cleared ones: always a JSON object, since that is what upstreams parse.
 */
export function writeClearedInput(marker: Marker): string {
  return JSON.stringify({ [REMOVED_KEY]: writeMarker(marker) });
}

/** Cleared arguments are shorter than this, whatever their labels, in characters. */
const LONGEST_CLEARED = 1_000;

/** The marker in cleared arguments, unchecked. */
export function parseClearedInput(input: string): Marker | undefined {
  if (input.length > LONGEST_CLEARED || !input.includes(MARKER_START)) return undefined;
  const value = parseObject(input);
  const marker = value?.[REMOVED_KEY];
  return typeof marker === 'string' && Object.keys(value ?? {}).length === 1
    ? parseMarker(marker)
    : undefined;
}

/** The object that a text of JSON holds; undefined when it is not JSON, or not an object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
