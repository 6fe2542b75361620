/** The demo's output: one row per request, at most 100 columns wide. */

import type { Bill } from './bill.ts';
import type { Reply } from './client.ts';

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

/**
 * Tokens and the input bill, without Precis and with it.
 *
 * @param unedited the requests as they would be without Precis
 * @param upstream what the demo's upstream has counted; absent with a live model
 */
export function printTotals(
  replies: Reply[],
  model: string,
  unedited: Bill,
  upstream: { bill: Bill; summaries: Bill } | undefined,
): void {
  const moves = replies.filter((reply) => reply.frontier === 'moved').length;
  console.log('─'.repeat(WIDTH));
  console.log(`${replies.length} requests, the frontier moved ${moves} times.`);
  if (replies.some(({ warning }) => warning?.includes('waiting')))
    console.log('waiting: a move is due, but waits until it pays for the prefix that it breaks.');
  if (!upstream) {
    const after = replies.reduce((sum, { tokensAfter }) => sum + tokensAfter, 0);
    printBill('without Precis', unedited, model);
    console.log(`${'with Precis'.padEnd(16)} ${thousands(after).padStart(9)} prompt tokens`);
    return;
  }
  const { bill, summaries } = upstream;
  printBill('without Precis', unedited, model);
  printBill('with Precis', bill, model);
  if (summaries.tokens > 0) printBill('its summaries', summaries, model);
  const saved = 1 - (bill.cost(model) + summaries.cost(model)) / unedited.cost(model);
  console.log(`The input costs ${percent(Math.abs(saved))} ${saved < 0 ? 'more' : 'less'}.`);
}

function printBill(name: string, bill: Bill, model: string): void {
  const tokens = thousands(bill.tokens).padStart(9);
  const cached = percent(bill.cached / Math.max(1, bill.tokens)).padStart(5);
  const cost = thousands(bill.cost(model)).padStart(9);
  console.log(
    `${name.padEnd(15)} ${tokens} prompt tokens, ${cached} cached: the price of ${cost} fresh ones`,
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
