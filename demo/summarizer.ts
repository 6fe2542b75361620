/**
 * Replaces a summarizer. It understands nothing: it puts the user's requests and the calls of the
 * agent under the headings that Precis asks for.
 */
import { type Heading, NONE, readSections, writeSections } from '../src/summary/text/headings.ts';

/** The sentence that the prompt for a summary begins with (`src/summary/text/prompt.ts`). */
const PROMPT = 'You keep the running summary of a conversation';

const MOST_LINES = 24;
const LONGEST_LINE = 160;

/** Whether a request asks for a summary. */
export function asksForSummary(system: string): boolean {
  return system.startsWith(PROMPT);
}

/** The messages of a transcript (`src/summary/text/transcript.ts`). */
const MESSAGE = /^### \d+ (user|assistant)\b.*\n([\s\S]*?)(?=\n### \d|$(?![\s\S]))/gm;

/** A summary of the transcript in a prompt, which continues the summary before it. */
export function summaryOf(prompt: string): string {
  const messages = [...fenced(prompt, 'transcript').matchAll(MESSAGE)];
  const before = readSections(fenced(prompt, 'summary'));
  const section = (heading: Heading, role: string): [Heading, string] => {
    const kept = (before.get(heading) ?? '').split('\n').filter((line) => line !== '' && line !== NONE);
    const said = messages.filter(([, by]) => by === role).flatMap(([, , text = '']) => lineOf(text));
    return [heading, [...kept, ...said].slice(-MOST_LINES).join('\n')];
  };
  return writeSections(new Map([section('## User Intent', 'user'), section('## Progress', 'assistant')]));
}

function fenced(prompt: string, kind: string): string {
  return new RegExp(`<(${kind}-[0-9a-f]+)>\\n([\\s\\S]*?)\\n</\\1>`).exec(prompt)?.[2] ?? '';
}

function lineOf(text: string): string[] {
  const line = text.trim().split('\n')[0] ?? '';
  return line === '' ? [] : [`- ${line.slice(0, LONGEST_LINE)}`];
}
