/**
 * What the results of earlier calls, which are in the view, hold of contents. A content never
 * changes, so what they hold needs no storage. Pure.
 *
 * A result says by its words alone whether it is a content, and whether it was cut. A content that
 * reads like such words is taken for less than it is, never for more.
 */
import { CUT_BY_ROOM, shownBefore } from './cut-note.ts';
import { linesOf } from './lines.ts';
import type { LineRange } from './query.ts';
import { isRefusal } from './refusals.ts';
import { NOTHING, queryOf, type Retrieve, readArguments } from './tool.ts';

export interface HeldResult {
  /** As the model wrote them. */
  readonly args: string;
  readonly result: string;
}

/** Lines of a content, one after the other. */
interface HeldLines {
  readonly lines: readonly string[];
  /** The number of the first one. */
  readonly from: number;
  /** The last number of which it is known that its line is among them, or that there is none. */
  readonly to: number;
}

export class HeldContents {
  private readonly results = new Map<string, string>();
  private readonly wholes = new Map<string, string>();
  private readonly parts = new Map<string, HeldLines[]>();

  constructor(results: readonly HeldResult[]) {
    for (const { args, result } of results) {
      const read = readArguments(args);
      if (read.ok && !isRefusal(result, read.value.ref)) this.add(read.value, result);
    }
  }

  /** The result of a call with the same arguments. */
  resultOf(asked: Retrieve): string | undefined {
    return this.results.get(keyOf(asked));
  }

  /** A content, if all of it is held. */
  whole(ref: string): string | undefined {
    return this.wholes.get(ref);
  }

  /** Lines of a content, if one result holds all of them. */
  linesOf(ref: string, { from, to }: LineRange): string | undefined {
    const held = this.parts.get(ref)?.find((part) => part.from <= from && to <= part.to);
    return held?.lines.slice(from - held.from, to - held.from + 1).join('\n');
  }

  private add(asked: Retrieve, result: string): void {
    const key = keyOf(asked);
    // There may be more room now.
    if (!this.results.has(key) && !result.endsWith(CUT_BY_ROOM)) this.results.set(key, result);
    const query = queryOf(asked);
    if (!query.ok || result === NOTHING) return;
    const { ref } = asked;
    if (query.value?.kind === 'lines') this.addPart(ref, linesIn(result, query.value));
    if (query.value) return;
    const shown = shownBefore(result);
    if (shown === undefined) this.wholes.set(ref, result);
    else
      this.addPart(
        ref,
        begun(
          1,
          [...linesOf(shown)].map(({ line }) => line),
        ),
      );
  }

  private addPart(ref: string, part: HeldLines): void {
    const parts = this.parts.get(ref);
    if (parts) parts.push(part);
    else this.parts.set(ref, [part]);
  }
}

/** Names a call by its arguments as they are understood. */
export function keyOf(asked: Retrieve): string {
  return JSON.stringify(asked);
}

/** The lines in a result of a call for lines. */
function linesIn(result: string, { from, to }: LineRange): HeldLines {
  const shown = shownBefore(result);
  if (shown !== undefined) return begun(from, shown.split('\n'));
  const lines = result.split('\n');
  const isEnd = lines.length < to - from + 1;
  return { lines, from, to: isEnd ? Number.POSITIVE_INFINITY : to };
}

/** Lines of which the last one may be cut. */
function begun(from: number, shown: readonly string[]): HeldLines {
  const lines = shown.slice(0, -1);
  return { lines, from, to: from + lines.length - 1 };
}
