/**
 * The blocks of an answer that rounds of ours before it have, too. The caller got all of them as
 * one message. Thinking is bound to exactly what stood before it, so none of them may stand twice.
 */
import { asObject, asString, type JsonObject, parseJson } from '../../lib/json.ts';
import { isBlank, waitsForCaller } from './answer-blocks.ts';
import type { Block } from './block.ts';

/** What tells blocks apart, by the first of these members that they have. */
const NAMES = ['signature', 'data', 'id', 'tool_use_id', 'text'] as const;

/**
 * The blocks that the last answer had. All of them, if it had none: a message is never empty.
 *
 * @param rounds see `ShownRounds`
 */
export function behindRounds(blocks: readonly Block[], rounds: string): readonly Block[] {
  const told = toldIn(rounds);
  let at = 0;
  const first = blocks.findIndex((block) => {
    const name = nameOf(block.type, (key) => block.string(key));
    // Upstreams refuse blank texts, so no round has one.
    if (name === undefined || isBlank({ type: block.type, text: block.string('text') })) return false;
    const found = told.indexOf(name, at);
    at = found + 1;
    return found < 0;
  });
  return first < 0 ? blocks : blocks.slice(first);
}

/** The names of all blocks in rounds that callers have seen, and of some that they have not. */
function toldIn(rounds: string): readonly (string | undefined)[] {
  const messages = parseJson(`[${rounds}]`);
  return (Array.isArray(messages) ? messages.map(asObject) : []).flatMap(({ role, content }) => {
    const blocks = role === 'assistant' && Array.isArray(content) ? content.map(asObject) : [];
    return blocks
      .filter((block: JsonObject) => !waitsForCaller(block))
      .map((block) => nameOf(asString(block.type), (key) => block[key]));
  });
}

function nameOf(type: string, member: (key: string) => unknown): string | undefined {
  const given = NAMES.map(member).find((value) => typeof value === 'string' && value !== '');
  return given === undefined ? undefined : `${type} ${given}`;
}
