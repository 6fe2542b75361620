/** The blocks of an answer that Precis's rounds before it have, too (`repeated.ts`). */
import { asObject, asObjects, asString } from '../../lib/json.ts';
import { firstOwn, type Piece, readRounds } from '../repeated.ts';
import { isBlank, waitsForCaller } from './answer-blocks.ts';
import type { Block } from './block.ts';

/** What nothing else has, by the first of these members that a block has. */
const IDS = ['signature', 'data', 'id', 'tool_use_id'] as const;

/**
 * The blocks that the last answer had. All of them, if it had none: a message is never empty.
 *
 * @param rounds see `ShownRounds`
 */
export function ownBlocks(blocks: readonly Block[], rounds: string): readonly Block[] {
  const pieces = blocks.map((block) => pieceOf(block.type, (key) => block.string(key)));
  const first = firstOwn(pieces, piecesIn(rounds));
  return first === blocks.length ? blocks : blocks.slice(first);
}

/** All blocks of rounds that callers have seen, and some that they have not. */
function piecesIn(rounds: string): readonly Piece[] {
  return readRounds(rounds)
    .map(asObject)
    .flatMap(({ role, content }) => (role === 'assistant' ? asObjects(content) : []))
    .filter((block) => !waitsForCaller(block))
    .map((block) => pieceOf(asString(block.type), (key) => block[key]));
}

function pieceOf(type: string, member: (key: string) => unknown): Piece {
  const filled = (key: string): string | undefined => asString(member(key)) || undefined;
  const id = IDS.map(filled).find((value) => value !== undefined);
  const text = filled('text');
  // Upstreams refuse blank texts, so no round has one.
  const words = isBlank({ type, text }) ? undefined : text;
  return { id: id && `${type} ${id}`, words: words && `${type} ${words}` };
}
