/**
 * Finds values that an agent needed again: written in a call although no recent message holds them.
 */
import { holds, textsOf } from '../../src/memory/run/near-use.ts';
import type { Reuse } from '../reuse.ts';
import type { ChatJson } from './conversation.ts';

/** The number of messages before that which don't hold the value. */
const SILENT_MESSAGES = 12;

/**
 * Values in generated outputs that an agent can't guess: ids, hashes, paths, addresses, amounts.
 */
const LITERAL =
  /\bord_[0-9a-f]{16}\b|\b[0-9a-f]{32}\b|\bsrc(?:\/[\w.-]+)+\.ts\b|\b[\w.]+@[\w.]+\.com\b|\b\d{3,}\.\d{2}\b/g;

/** The literals of a text, in order of first occurrence. */
export function literalsIn(text: string): Set<string> {
  return new Set(text.match(LITERAL) ?? []);
}

/** The reuse in a conversation: values of tool outputs that a later call writes again. */
export function findReuse(messages: readonly ChatJson[]): Reuse[] {
  const texts = messages.map((message) => textsOf(message));
  return messages.flatMap(({ role, tool_calls }, used) => {
    if (role !== 'assistant' || tool_calls === undefined) return [];
    return [...literalsIn(textsOf(tool_calls))].flatMap((value) => {
      const holders = texts.slice(0, used).flatMap((text, index) => (holds(text, value) ? [index] : []));
      const printed = messages[holders[0] ?? used]?.role === 'tool';
      const silent = used - (holders.at(-1) ?? used) - 1;
      return printed && silent >= SILENT_MESSAGES ? [{ value, used }] : [];
    });
  });
}
