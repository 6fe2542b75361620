/** The demo's output: one row per request, at most 100 columns wide. */

import type { Reply } from './client.ts';
import { dollars, paidSentence, type RunBill } from './run-bill.ts';

const TOKENS_PER_BLOCK = 2_000;
const WIDTH = 96;

export function printHeader(): void {
  console.log('  #  reply   messages  tokens before   after  edits      frontier  refs  sent █  removed ░');
  console.log('─'.repeat(WIDTH));
}

/** @param sent tokens of the array as our upstream counts them, for replies without counts */
export function printRow(number: number, messages: number, reply: Reply, sent: number): void {
  const tokensBefore = reply.tokensBefore || sent;
  const tokensAfter = reply.tokensAfter || sent;
  const cells = [
    String(number).padStart(3),
    (reply.stream ? 'stream' : 'json').padEnd(6),
    String(messages).padStart(9),
    thousands(tokensBefore).padStart(14),
    thousands(tokensAfter).padStart(7),
    reply.applied.padEnd(10),
    reply.frontier.padEnd(9),
    String(reply.refs).padStart(4),
  ];
  console.log(
    `${cells.join(' ')}  ${bar(tokensBefore, tokensAfter)}${reply.warning ? ` ${reply.warning}` : ''}`.trimEnd(),
  );
}

/** What the run has cost. @param bill undefined if no price is known */
export function printTotals(replies: Reply[], bill: RunBill | undefined): void {
  const moves = replies.filter((reply) => reply.frontier === 'moved').length;
  console.log('─'.repeat(WIDTH));
  console.log(`${replies.length} requests, the frontier moved ${moves} times.`);
  if (replies.some(({ warning }) => warning?.includes('waiting')))
    console.log('waiting: a move is due, but waits until it pays for the prefix that it breaks.');
  if (!bill) {
    console.log('What the run has cost is not known.');
    return;
  }
  printTokens('without Precis', bill.whole);
  printTokens('with Precis', bill.sent);
  if (bill.summarizer > 0) console.log(`its summaries${dollars(bill.summarizer).padStart(49)}`);
  console.log(paidSentence(bill));
}

function printTokens(name: string, { fresh, cached, written, amount }: RunBill['sent']): void {
  const input = fresh + cached + written;
  const share = percent(cached / Math.max(1, input)).padStart(5);
  console.log(
    `${name.padEnd(15)} ${thousands(input).padStart(9)} prompt tokens, ${share} cached${dollars(amount).padStart(10)}`,
  );
}

/** A title, and below it a wrapped and indented text. */
export function printBlock(title: string, text: string): void {
  console.log(`\n${title}`);
  for (const line of text.split('\n')) {
    for (const piece of line.match(/.{1,92}$|.{1,91}[\s,]|.{1,92}/g) ?? [''])
      console.log(`    ${piece.trimEnd()}`);
  }
}

/** The first lines of a text, truncated on the right. */
export function printHead(text: string, lines: number): void {
  const all = text.trimEnd().split('\n');
  for (const line of all.slice(0, lines))
    console.log(`    ${line.length > 92 ? `${line.slice(0, 91)}…` : line}`);
  if (all.length > lines) console.log(`    … ${all.length - lines} more lines`);
}

export function thousands(value: number): string {
  return value.toLocaleString('en-US');
}

function bar(tokensBefore: number, tokensAfter: number): string {
  const whole = Math.ceil(tokensBefore / TOKENS_PER_BLOCK);
  const sent = Math.min(whole, Math.ceil(tokensAfter / TOKENS_PER_BLOCK));
  return '█'.repeat(sent) + '░'.repeat(whole - sent);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
