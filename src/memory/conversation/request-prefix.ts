/**
 * What a request's cached prefix and its bound reasoning follow from, as far as its caller has
 * chosen it, in a form that is short enough to be kept. Two of them show whether a request extends
 * an earlier one, and if not, what its caller has changed.
 */

/** Hashes are short: they are compared within one conversation, and nothing is found by them. */
export interface RequestPrefix {
  readonly model: string;
  /** Hashes of what the request says; empty where it says nothing. */
  readonly tools: string;
  readonly effort: string;
  readonly format: string;
  readonly user: string;
  /** Of the caller's key for the vendor's prompt cache. */
  readonly key: string;
  /** A hash of Precis's tools, and of where the instructions go. */
  readonly own: string;
  /** A hash of what is added beside the view; empty without any. Absent where it is not known. */
  readonly added?: string;
  /** `MESSAGE_CHARACTERS` of each message. */
  readonly messages: string;
}

/** After the hash of Precis's tools, where the instructions went as a message. */
export const MOVED = '+';

/** Whether Precis's tools are the same, wherever the instructions went. */
export function isSameTools(one: RequestPrefix, other: RequestPrefix): boolean {
  return one.own.replace(MOVED, '') === other.own.replace(MOVED, '');
}

/** In the order in which a difference counts: the first one explains what follows. */
const SETTINGS = ['model', 'key', 'user', 'tools', 'effort', 'format'] as const;

export interface CallerChange {
  readonly cause: (typeof SETTINGS)[number] | 'message';
  /** The first message that differs, as its index in the caller's array. */
  readonly message?: number;
}

/** 18 bits: one of 260,000 edits stays unnoticed. */
export const MESSAGE_CHARACTERS = 3;

/** Edits of later messages are not seen. Bounds what is kept of a request. */
const MOST_MESSAGES = 4_000;

/** @param identities see `Message` */
export function packedMessages(identities: readonly string[]): string {
  return identities
    .slice(0, MOST_MESSAGES)
    .map((identity) => identity.slice(0, MESSAGE_CHARACTERS))
    .join('');
}

/** What a caller has changed since an earlier request. Undefined if the request extends it. */
export function callerChange(before: RequestPrefix, now: RequestPrefix): CallerChange | undefined {
  const setting = SETTINGS.find((name) => before[name] !== now[name]);
  if (setting) return { cause: setting };
  const message = firstDifference(before.messages, now.messages);
  return message === undefined ? undefined : { cause: 'message', message };
}

function firstDifference(before: string, now: string): number | undefined {
  const end = Math.min(before.length, now.length);
  for (let at = 0; at < end; at++) if (before[at] !== now[at]) return Math.floor(at / MESSAGE_CHARACTERS);
  return undefined;
}

/**
 * Whether the first message that differs was made after more than what precedes it now: it was at a
 * later place, or is the answer to a request whose last message has left.
 */
export function hasLeftBefore(before: RequestPrefix, now: RequestPrefix, message: number): boolean {
  const parts = partsOf(before.messages);
  const moved = partsOf(now.messages)[message] ?? '';
  return message === parts.length - 1 || parts.includes(moved, message + 1);
}

/** As many lines of a conversation are kept: its agent's, and one of each agent beside it. */
const MOST_LINES = 4;
/** In characters, of all lines but the newest. */
const MOST_CHARACTERS = 12_000;

/**
 * The line that a request continues: the one with which it shares at least half of the messages of
 * the shorter one, and the most of them. A caller may run several agents in one conversation, or
 * begin anew. Undefined if it continues none.
 */
export function lineOf<Line extends RequestPrefix>(
  lines: readonly Line[],
  { messages }: RequestPrefix,
): Line | undefined {
  // The usual case: a request extends the only one that is known.
  const [only, ...others] = lines;
  if (only && only.messages !== '' && others.length === 0 && messages.startsWith(only.messages)) return only;
  const known = new Set(partsOf(messages));
  let best: { readonly line: Line; readonly share: number } | undefined;
  for (const line of lines) {
    const parts = partsOf(line.messages);
    const shared = parts.filter((part) => known.has(part)).length;
    const share = shared / Math.max(1, Math.min(parts.length, messages.length / MESSAGE_CHARACTERS));
    if (share >= 1 / 2 && share > (best?.share ?? 0)) best = { line, share };
  }
  return best?.line;
}

/** The lines with a new request, which goes first, and without the one that it continues. */
export function withLine<Line extends RequestPrefix>(
  lines: readonly Line[],
  now: Line,
  continued: Line | undefined,
): readonly Line[] {
  const others = lines.filter((line) => line !== continued).slice(0, MOST_LINES - 1);
  const upTo = (end: number) => others.slice(0, end).reduce((sum, { messages }) => sum + messages.length, 0);
  return [now, ...others.filter((_, at) => upTo(at + 1) <= MOST_CHARACTERS)];
}

function partsOf(messages: string): string[] {
  return messages.match(new RegExp(`.{${MESSAGE_CHARACTERS}}`, 'g')) ?? [];
}
