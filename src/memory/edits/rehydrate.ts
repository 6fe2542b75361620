/**
 * Rehydration: which contents of the messages that a summary covers follow it again.
 *
 * The most recent output of each distinct call is chosen, the latest first. Two calls are the same
 * if they are of one tool with one path, or else with the same arguments. The choice is made when
 * the frontier moves, from the messages up to that request, so it stays until the next move.
 *
 * The search for the cut does not see the chosen outputs: they fill the room that it has left, and
 * a move that would not pay off with them is made without. `shown-summary.ts` writes them; a ref is
 * the one of the output's removal, which the plan has written anyway. Whether an output may come
 * back is a fact about its message, which the isolate keeps.
 */

import { elementAt } from '../../lib/elements.ts';
import { parseObject } from '../../lib/json.ts';
import { oncePer } from '../../lib/once.ts';
import { heldUnits } from '../conversation/bonds.ts';
import type { History } from '../conversation/history.ts';
import type { Content, Message, ToolCall } from '../conversation/message.ts';
import type { Digest } from '../conversation/refs.ts';
import { type Fence, mayClose, writeOutput, writeRehydrated } from '../conversation/rehydrated-outputs.ts';
import { mostFitting } from '../tokens/fitting.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { label, NO_CALL, parseMarker, parseOffloaded, TEXT_OBSERVATION } from './placeholder.ts';

/** An output that follows the summary. */
export interface RehydratedOutput {
  readonly message: number;
  /** Absent for a text observation. */
  readonly call: ToolCall | undefined;
  readonly fence: Fence;
  /** Tokens of its content. */
  readonly tokens: number;
  /** Tokens that are reserved for it, with its fence and a ref. */
  readonly reserved: number;
}

/** The outputs after a summary. */
export interface Rehydrated {
  /** Oldest first; at least one. */
  readonly outputs: readonly RehydratedOutput[];
  /** Tokens that are reserved for all of them. */
  readonly tokens: number;
}

/** The tokens that are reserved for outputs. */
export function tokensOf(rehydrated: Rehydrated | undefined): number {
  return rehydrated?.tokens ?? 0;
}

interface RehydrationLimits {
  readonly items: number;
  /** Of all outputs together, and of a single one, in tokens. */
  readonly maxTokens: number;
  readonly largest: number;
}

/** At most this many tokens for a ref in its attribute. */
const REF_TOKENS = 32;

/** Outputs that are looked at for one choice; older ones were not used recently. */
const MOST_LOOKED = 64;

/** Names of other tools in an output's fence. */
const MOST_LATER = 3;

interface PlacedOutput {
  readonly message: number;
  readonly unit: number;
  readonly call: ToolCall | undefined;
}

/** The text of an output as it follows a summary. */
export function rehydratedText(message: Message): string {
  return textOf(message.content());
}

/** The choices during one replay. */
export class Rehydrator {
  private readonly history: History;
  private readonly limits: RehydrationLimits;
  private readonly counter: TokenCounter;
  private readonly digest: Digest;
  /** Ascending. */
  private readonly outputs: readonly PlacedOutput[];
  private arrived = 0;
  /** The last output of each distinct call. */
  private readonly latest = new Map<string, number>();
  /** For each path, the last output of each tool that was called with it. */
  private readonly onPath = new Map<string, Map<string, number>>();

  constructor(history: History, limits: RehydrationLimits, counter: TokenCounter, digest: Digest) {
    this.history = history;
    this.limits = limits;
    this.counter = counter;
    this.digest = digest;
    this.outputs = history.units.flatMap(({ outputs }, unit) =>
      outputs.map(({ message, call }) => ({ message, call, unit })),
    );
  }

  /**
   * The outputs for a summary of the units before one. Call it for request points in order.
   *
   * @param messages the request's array, exclusive; later messages don't count
   * @param space the most tokens that the view has for them
   */
  choose(unit: number, messages: number, space: number): Rehydrated | undefined {
    const { items, maxTokens, largest } = this.limits;
    const room = Math.min(maxTokens, space);
    let tokens = this.counter.marker(writeRehydrated([])) + 1;
    if (room <= tokens) return undefined;
    this.arrive(messages);
    const held = heldUnits(this.history, unit, messages);
    const chosen: RehydratedOutput[] = [];
    const end = mostFitting(this.outputs.length, (count) => elementAt(this.outputs, count - 1).unit < unit);
    for (let at = end - 1; at >= Math.max(0, end - MOST_LOOKED) && chosen.length < items; at--) {
      const output = elementAt(this.outputs, at);
      if (held.has(output.unit) || !this.isLatest(output)) continue;
      const weighed = this.weigh(output, Math.min(largest, room - tokens));
      if (!weighed) continue;
      tokens += weighed.reserved;
      chosen.push(weighed);
    }
    return chosen.length === 0 ? undefined : { outputs: chosen.toReversed(), tokens };
  }

  /** The outputs that are still out of the view after a further result has brought a call back. */
  without(rehydrated: Rehydrated | undefined, unit: number, messages: number): Rehydrated | undefined {
    if (!rehydrated) return undefined;
    const held = heldUnits(this.history, unit, messages);
    const unitOf = new Map(this.outputs.map((output) => [output.message, output.unit]));
    const isHeld = ({ message }: RehydratedOutput): boolean => held.has(unitOf.get(message) ?? -1);
    const back = rehydrated.outputs.filter(isHeld);
    if (back.length === 0) return rehydrated;
    const outputs = rehydrated.outputs.filter((output) => !isHeld(output));
    if (outputs.length === 0) return undefined;
    return { outputs, tokens: back.reduce((rest, { reserved }) => rest - reserved, rehydrated.tokens) };
  }

  private arrive(messages: number): void {
    for (; this.arrived < this.outputs.length; this.arrived++) {
      const { message, call } = elementAt(this.outputs, this.arrived);
      if (message >= messages) break;
      if (!call) continue;
      const { key, path } = subjectOf(call, this.digest);
      this.latest.set(key, message);
      if (path === undefined) continue;
      const tools = this.onPath.get(path) ?? new Map<string, number>();
      tools.set(call.name, message);
      this.onPath.set(path, tools);
    }
  }

  /** Whether no later call, covered or not, has asked for the same. */
  private isLatest({ message, call }: PlacedOutput): boolean {
    return call === undefined || this.latest.get(subjectOf(call, this.digest).key) === message;
  }

  /** The output with its tokens; undefined if it has no room, or nothing to show. */
  private weigh({ message, call }: PlacedOutput, room: number): RehydratedOutput | undefined {
    const source = elementAt(this.history.messages, message);
    const tokens = this.counter.content(source);
    if (tokens > room) return undefined;
    const later = call ? this.laterTools(call, message) : [];
    const fence = fenceOf(call, later, this.digest);
    const reserved = tokens + this.counter.marker(writeOutput(fence, '')) + REF_TOKENS;
    if (reserved > room || !isWorthShowing(source)) return undefined;
    return { message, call, fence, tokens, reserved };
  }

  private laterTools(call: ToolCall, message: number): string[] {
    const { path } = subjectOf(call, this.digest);
    const tools = [...((path !== undefined && this.onPath.get(path)) || [])];
    return tools
      .filter(([name, last]) => name !== call.name && last > message)
      .sort(([, one], [, other]) => other - one)
      .slice(0, MOST_LATER)
      .map(([name]) => name);
  }
}

function fenceOf(call: ToolCall | undefined, later: readonly string[], digest: Digest): Fence {
  const { path } = call ? subjectOf(call, digest) : {};
  const value = path ?? call?.input;
  return {
    tool: label(call?.name ?? TEXT_OBSERVATION, digest),
    call: label(call?.id ?? NO_CALL, digest),
    ...(value ? { about: { name: path === undefined ? 'arguments' : 'path', value } } : {}),
    later: later.map((name) => label(name, digest)),
  };
}

/** What a call asks for: equal keys ask for the same. */
interface Subject {
  readonly key: string;
  readonly path: string | undefined;
}

const subjectOf = oncePer((call: ToolCall, digest: Digest): Subject => {
  const path = pathIn(call.input);
  const input = call.input.length > LONGEST_PATH ? digest(call.input) : call.input;
  return { key: JSON.stringify([call.name, path === undefined, path ?? input]), path };
});

/** In characters. Longer arguments carry a text, and are compared as a whole. */
const LONGEST_PARSED = 100_000;
const LONGEST_PATH = 1_000;

/** The first argument that names a file or an address; undefined if there is none. */
function pathIn(input: string): string | undefined {
  if (input.length > LONGEST_PARSED) return undefined;
  for (const [name, value] of Object.entries(parseObject(input) ?? {}))
    if (typeof value === 'string' && value !== '' && value.length <= LONGEST_PATH && isPathName(name))
      return value;
  return undefined;
}

/** The last word of such an argument's name: `file_path`, `targetFile`, `uri`. */
const PATH_WORDS = new Set(['path', 'filepath', 'file', 'filename', 'uri', 'url']);

function isPathName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]/);
  return PATH_WORDS.has(words.at(-1) ?? '') || words.slice(-2).join('_') === 'file_name';
}

/** How an output begins that only says that a call has failed. */
const FAILURE =
  /^[\s"'{[(<]{0,12}(?:\w{0,40}(?:error|exception|fatal|failed|failure)["'\]]? ?:|error \w{2,20}ing\b|traceback \(|tool_use_error|permission denied|no such file|(?:command )?not found)/i;
/** In characters. */
const LOOKED_AT = 200;

/**
 * Whether an output has a text that can be shown again as it is: not empty, no failure, none of
 * Precis's placeholders, no image, and nothing that could end its fence. Known from then on.
 */
function isWorthShowing(message: Message): boolean {
  const { facts } = message;
  facts.rehydrates ??= isWhole(message.content());
  return facts.rehydrates;
}

function textOf({ weight }: Content): string {
  return weight.texts.join('\n');
}

function isWhole(content: Content): boolean {
  if (content.weight.flat > 0) return false;
  const text = textOf(content);
  if (text.trim() === '' || !text.isWellFormed() || FAILURE.test(text.slice(0, LOOKED_AT))) return false;
  return !mayClose(text) && !parseMarker(text) && !parseOffloaded(text);
}
