/** The demo's output: one row per request, at most 100 columns wide. */

import type { Reply } from './client.ts';

const TOKENS_PER_BLOCK = 2_000;
const WIDTH = 96;

export function printHeader(): void {
  console.log('  #  reply   messages  tokens before   after  edits      frontier  refs  sent █  removed ░');
  console.log('─'.repeat(WIDTH));
}

export function printRow(number: number, messages: number, reply: Reply): void {
  const cells = [
    String(number).padStart(3),
    (reply.stream ? 'stream' : 'json').padEnd(6),
    String(messages).padStart(9),
    thousands(reply.tokensBefore).padStart(14),
    thousands(reply.tokensAfter).padStart(7),
    reply.applied.padEnd(10),
    reply.frontier.padEnd(9),
    String(reply.refs).padStart(4),
  ];
  console.log(`${cells.join(' ')}  ${bar(reply)}${reply.warning ? ` ${reply.warning}` : ''}`.trimEnd());
}

export function printTotals(replies: Reply[], counted: number | undefined): void {
  const before = sum(replies.map((reply) => reply.tokensBefore));
  const after = sum(replies.map((reply) => reply.tokensAfter));
  const moves = replies.filter((reply) => reply.frontier === 'moved').length;
  console.log('─'.repeat(WIDTH));
  console.log(`${replies.length} requests, the frontier moved ${moves} times.`);
  console.log(`Prompt tokens without Precis ${thousands(before).padStart(9)}`);
  console.log(
    `                 with Precis ${thousands(after).padStart(9)}  ${percent(1 - after / before)} less`,
  );
  if (counted !== undefined) console.log(`   as the upstream counted   ${thousands(counted).padStart(9)}`);
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

function bar({ tokensBefore, tokensAfter }: Reply): string {
  const whole = Math.ceil(tokensBefore / TOKENS_PER_BLOCK);
  const sent = Math.min(whole, Math.ceil(tokensAfter / TOKENS_PER_BLOCK));
  return '█'.repeat(sent) + '░'.repeat(whole - sent);
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
