/**
 * Words that a program puts after results of tools, while the run that they belong to goes on: the
 * state of the editor, reminders, progress. Nobody has asked them of the model, so they begin no
 * turn.
 *
 * They are known by their form: each text is elements of mark-up and nothing else, or one line in
 * brackets, or one line that is a count with its label; after a result that has loaded a tool, a
 * short line that says so (`Tool loaded.`). Elements that quote the user are the user's. All other
 * words after results begin a turn, since a user may interrupt a run; the request of that run stays
 * with them (`runningRequests`). So the forms are narrow: a remark that is taken for a turn
 * costs some tokens, and a user's words that are taken for a remark may be trimmed.
 */
import type { Message } from './message.ts';

/**
 * Whether a message that follows results is of the program that runs the tools.
 *
 * @param isAfterLoading whether a result has loaded a tool, which programs confirm in a line
 */
export function isRemark(message: Message, isAfterLoading = false): boolean {
  const { texts, flat } = message.content().weight;
  const isOf = (text: string): boolean => isOfProgram(text.trim(), isAfterLoading);
  return flat === 0 && texts.length > 0 && texts.every(isOf);
}

/** The longest line that is read as a state of things, in characters. */
const LONGEST_LINE = 200;

/** `[3 files changed]` */
const IN_BRACKETS = /^\[[^\][]*\]$/;

/**
 * A share or a place, and at most a few words after it: `Step 4 of 20`, `Step 4 of 20: reading
 * a.ts`, `Tokens used: 12,000 / 200,000`, `[3/10] files checked`, `42 % done`. A label before it
 * ends with a sign, or is one word and the place ends with one: `Use 50% less memory` and `Fix 3 of
 * the tests` are a user's.
 */
const COUNT = new RegExp(
  [
    /^[^\p{L}\d]*/u,
    /(?:\p{L}+(?:\s+\p{L}+){0,3}\s*(?:[:=([…]|\.{3})\s*)?/u,
    /(?:\p{L}+\s+(?=\d[\d.,]*\s*(?:\/|of\b|out of\b)\s*[\d.,]+(?:[^\p{L}\d]*$|\s*[:–—])))?/u,
    /\d[\d.,]*\s*(?:%|(?:\/|of\b|out of\b)\s*\d[\d.,]*)/u,
    /(?:[^\p{L}\d]*(?:\p{L}+[^\p{L}\d]*){0,2}|\s*[:–—]\s*(?:\p{L}\S*\s*){1,3})$/u,
  ]
    .map(({ source }) => source)
    .join(''),
  'u',
);

/** `Tool loaded.`, `Loaded 2 tools: f, g` */
const LOADED = /\b(?:loaded|available|enabled|ready)\b/i;

/** The longest line that only says so, in words. */
const MOST_WORDS = 8;

function saysLoaded(text: string): boolean {
  return LOADED.test(text) && text.split(/\s+/).length <= MOST_WORDS;
}

/** A program that passes on what its user has said meanwhile, in an element of its own. */
const QUOTED = /\b(?:the|your) user (?:has |just )?(?:sent|wrote|said)\b/i;

function isOfProgram(text: string, isAfterLoading: boolean): boolean {
  if (text.startsWith('<')) return isMarkUp(text) && !QUOTED.test(text);
  if (text === '' || text.length > LONGEST_LINE || /[?\n]/.test(text)) return false;
  return (isAfterLoading && saysLoaded(text)) || IN_BRACKETS.test(text) || COUNT.test(text);
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
