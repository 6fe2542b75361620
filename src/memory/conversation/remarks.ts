/**
 * Words that a program puts behind results of tools, while the run that they belong to goes on: the
 * state of the editor, reminders, progress. Nobody has asked them of the model, so they begin no
 * turn.
 *
 * They are known by their form: each text is elements of mark-up and nothing else, or one line in
 * brackets, or one line that begins with a count; behind a result that has loaded a tool, any line
 * (`Tool loaded.`). Elements that quote the user are the user's. All
 * other words behind results begin a turn, since a user may interrupt a run; the request of that
 * run stays with them (`running-requests.ts`).
 */
import type { Message } from './message.ts';

/**
 * Whether a message that follows results is of the program that runs the tools.
 *
 * @param isBehindLoading whether a result has loaded a tool, which programs confirm in a line
 */
export function isRemark(message: Message, isBehindLoading = false): boolean {
  const { texts, flat } = message.content().weight;
  const isOf = (text: string): boolean => isOfProgram(text.trim(), isBehindLoading);
  return flat === 0 && texts.length > 0 && texts.every(isOf);
}

/** The longest line that is read as a state of things, in characters. */
const LONGEST_LINE = 200;

/** `[3 files changed]` */
const IN_BRACKETS = /^\[[^\][]*\]$/;

/** `Step 4 of 20`, `Tokens used: 12,000 / 200,000`, `[3/10] checked`, `42 % done` */
const COUNT = /^[^\p{L}\d]*(?:\p{L}+[^\p{L}\d]+){0,3}\d[\d.,]*\s*(?:\/|%|of\b|out of\b)/u;

function isOfProgram(text: string, isBehindLoading: boolean): boolean {
  if (text.startsWith('<')) return isMarkUp(text);
  if (text === '' || text.length > LONGEST_LINE || /[?\n]/.test(text)) return false;
  return isBehindLoading || IN_BRACKETS.test(text) || COUNT.test(text);
}

const START = /^<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>/;

/** Names of elements that hold a user's own words, as editors quote them. */
const OF_USER =
  /(?:^|[_.:-])(?:user|human|query|question|request|feedback|instructions?|answer|messages?|prompt|comment)(?:$|[_.:-])|^(?:task|objective|goal)$/i;

/** Whether a text is elements, and white space between them. */
function isMarkUp(text: string): boolean {
  let rest = text;
  while (rest !== '') {
    const name = START.exec(rest)?.[1];
    if (name === undefined || OF_USER.test(name)) return false;
    const end = `</${name}>`;
    const at = rest.indexOf(end);
    if (at < 0) return false;
    rest = rest.slice(at + end.length).trimStart();
  }
  return true;
}
