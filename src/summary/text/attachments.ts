/**
 * What a ledger says of attachments: a line for each image, audio or file that has a name, so that
 * "the contract that I sent you" can be found.
 *
 * - sent in 4: file contract.pdf, file-abc123
 */
import type { Attachment } from '../../memory/conversation/message.ts';
import type { Entry } from '../../memory/conversation/passage.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import { neutralize } from './headings.ts';

export interface SentAttachment extends Attachment {
  /** The index of its message. */
  readonly index: number;
}

/** More than any ledger has room for. */
const MOST_ATTACHMENTS = 200;

const LINE = /^- sent in (\d+): (image|audio|file) (.+)$/;

export function describeAttachment({ kind, names }: Attachment): string {
  return [kind, names.map((name) => name.replace(/\s+/g, ' ')).join(', ')].filter(Boolean).join(' ');
}

/** An attachment from its line in a ledger; undefined for other lines. */
export function readAttachment(line: string): SentAttachment | undefined {
  const [, index, kind, names = ''] = LINE.exec(line) ?? [];
  if (index === undefined) return undefined;
  return { index: Number(index), kind: kind as Attachment['kind'], names: names.split(', ') };
}

/**
 * The attachments that have a name: each at its first place, the likeliest to be needed again
 * first. Those that a user has sent come before what tools have returned, names that people give
 * before addresses, and later ones before earlier ones.
 *
 * @param prior the attachments in the ledger before these entries
 */
export function rankedAttachments(
  entries: readonly Entry[],
  prior: readonly SentAttachment[],
): SentAttachment[] {
  const found = new Map<string, SentAttachment & { readonly rank: number }>();
  const add = (sent: SentAttachment, rank: number): void => {
    const key = describeAttachment(sent);
    if (!found.has(key)) found.set(key, { ...sent, rank });
  };
  for (const sent of prior) add(sent, rankOf(sent));
  for (const { index, role, attached = [] } of entries)
    for (const one of attached) add({ ...one, index }, (role === 'user' ? 0 : 2) + rankOf(one));
  return [...found.values()]
    .toReversed()
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST_ATTACHMENTS)
    .map(({ index, kind, names }) => ({ index, kind, names }));
}

/**
 * The lines that fit. What does not fit with its addresses is listed without them.
 *
 * @param written the text before them. What it names is not repeated
 */
export function attachmentLines(
  attachments: readonly SentAttachment[],
  maxTokens: number,
  written: string,
  counter: TokenCounter,
): string[] {
  let left = maxTokens;
  const lines: string[] = [];
  for (const sent of attachments) {
    if (sent.names.every((name) => written.includes(name))) continue;
    const short = sent.names.filter((name) => !isAddress(name));
    const fitting = [sent.names, ...(short.length > 0 ? [short] : [])]
      .map((names) => neutralize(`- sent in ${sent.index}: ${describeAttachment({ ...sent, names })}`))
      .find((line) => counter.text(`\n${line}`) <= left);
    if (fitting === undefined) continue;
    left -= counter.text(`\n${fitting}`);
    lines.push(fitting);
  }
  return lines;
}

function rankOf({ names }: Attachment): number {
  return names.every(isAddress) ? 1 : 0;
}

function isAddress(name: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(name);
}
