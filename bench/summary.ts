/** The summarizer's answer in the benchmarks. */
import { writeSections } from '../src/summary/text/headings.ts';

/** A summary that Precis accepts: one section with a sentence, all others empty. */
export function summaryOf(sentence: string): string {
  return writeSections(new Map([['## Progress', sentence]]));
}
