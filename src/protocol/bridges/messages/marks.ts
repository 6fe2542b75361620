/**
 * Precis's marks of the prompt cache, where its views of Messages have them
 * (`messages/cache-marks.ts`).
 */
import { Buffer } from 'node:buffer';
import { type JsonObject, parseObject } from '../../../lib/json.ts';
import { leastCachedPrompt } from '../../../memory/models/prompt-caches.ts';
import { canFollow, MARK_FIELD, MESSAGES_MARKS } from '../../messages/block.ts';
import { marksOfHead } from '../../messages/cache-marks.ts';
import { isTooShort, movingPlaces } from '../../moving-marks.ts';
import { withMark } from './parts.ts';
import type { Turn, Turns } from './turns.ts';

/** What of a body can have marks. */
interface Markable extends Turns {
  readonly tools: readonly JsonObject[];
}

const MARK = JSON.parse(MESSAGES_MARKS.json) as JsonObject;

/** A body that has any mark of its caller's keeps those alone. */
export function withOwnMarks(body: Markable, model: string): Markable {
  const { tools, system, turns } = body;
  const texts = [JSON.stringify(tools), JSON.stringify(system), ...turns.flatMap(({ blocks }) => blocks)];
  if (texts.some((text) => text.includes(`"${MARK_FIELD}":{`))) return body;
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (isTooShort(all, leastCachedPrompt(model))) return body;
  const [ofTools = 0, ofSystem = 0] = sizes;
  const marks = marksOfHead(model, ofTools, ofSystem);
  const places = movingPlaces({
    messages: turns.map((turn) => ({ ...turn, parts: turn.blocks.length })),
    bears: (turn) => bearing(turn) >= 0,
    endsUnmarked: false,
  });
  return {
    tools: marks.tools ? withMark(tools, MARK) : tools,
    system: marks.system ? withMark(system, MARK) : system,
    turns: turns.map((turn, at) => (places.includes(at) ? markedTurn(turn) : turn)),
  };
}

/** The index of the block that a mark can follow; -1 if there is none. */
function bearing({ role, blocks }: Turn): number {
  if (role !== 'user') return -1;
  return blocks.findLastIndex((json) => {
    const { type, text } = parseObject(json) ?? {};
    return canFollow(type, text);
  });
}

function markedTurn(turn: Turn): Turn {
  const { role, blocks } = turn;
  const marked = bearing(turn);
  const mark = `,"${MARK_FIELD}":${MESSAGES_MARKS.json}}`;
  return { role, blocks: blocks.map((json, at) => (at === marked ? json.slice(0, -1) + mark : json)) };
}
