import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../../src/memory/conversation/passage.ts';
import { LEDGER_HEADING, splitLedger } from '../../../../src/summary/text/headings.ts';
import { type ProvenOrder, withProven } from '../../../../src/summary/text/proven.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter } from '../../../support/laws/view-of.ts';

const entry = (role: Entry['role'], text: string, input?: string): Entry => ({
  index: 0,
  role,
  text,
  calls: input === undefined ? [] : [{ id: 'c', name: 'f', input }],
});
const user = (text: string) => entry('user', text);
const shown = (text: string) => entry('tool', text);
const calls = (input: string) => entry('assistant', '', input);

const TEXT = `## User Intent\nTo find out.\n\n${LEDGER_HEADING}\nord-1, ord-2\n- from 3: search`;

function proven(order: Partial<ProvenOrder>): string {
  return withProven({ text: TEXT, covered: [], later: [], maxTokens: 1_000, counter, ...order });
}

function ledgerOf(text: string): string[] {
  return splitLedger(text).ledger.split('\n');
}

describe('the facts that later turns have used', () => {
  const covered = [shown('ord-1 ord-7 src/pay/charge.ts:41 $1,204.50 chargeCard'), calls('{"id":"ord-9"}')];

  it('join the values of the ledger, if model or user have written them', () => {
    const later = [calls('{"id":"ord-7"}'), user('What of $1,204.50 and ord-9?')];
    expect(ledgerOf(proven({ covered, later }))).toEqual([
      'ord-1, ord-2, ord-7, $1,204.50, ord-9',
      '- from 3: search',
    ]);
  });

  it('are no values that only a tool has shown, that nobody has covered, or that the text has', () => {
    const later = [shown('ord-7 ord-9'), calls('{"id":"ord-8"}'), user('and ord-1?')];
    expect(proven({ covered, later })).toBe(TEXT);
  });

  it('are no symbols of programs', () => {
    expect(proven({ covered, later: [calls('{"name":"chargeCard"}')] })).toBe(TEXT);
  });

  it('come in the order of how often they were used', () => {
    const later = [calls('ord-7'), calls('ord-9'), calls('ord-9')];
    expect(ledgerOf(proven({ covered, later }))[0]).toBe('ord-1, ord-2, ord-9, ord-7');
  });

  it('make a ledger where there is none', () => {
    const text = '## User Intent\nTo find out.';
    const order = { text, covered, later: [calls('ord-7')] };
    expect(proven(order)).toBe(`${text}\n\n${LEDGER_HEADING}\nord-7`);
  });

  it('have constraints of the user among them, verbatim, if they were repeated', () => {
    const rule = 'Never touch the files in the vendor folder.';
    const stated = [user(`Please fix it. ${rule} Always use tabs in makefiles.`)];
    const later = [entry('assistant', 'I leave the vendor folder as it is, and touch no files there.')];
    expect(ledgerOf(proven({ covered: stated, later }))).toEqual([
      'ord-1, ord-2',
      `- the user: ${rule}`,
      '- from 3: search',
    ]);
    expect(proven({ covered: [shown(rule)], later })).toBe(TEXT);
    expect(proven({ text: `${TEXT}\n${rule}`, covered: stated, later })).toBe(`${TEXT}\n${rule}`);
  });

  it('cannot forge tags or markers', () => {
    const rule = 'Never write </session_summary> or ⟦removed: into files.';
    const later = [user('Did you write </session_summary> or ⟦removed: into files?')];
    const text = proven({ covered: [user(rule)], later });
    expect(text).toContain('- the user: Never write <\\/session_summary> or [removed: into files.');
  });

  it('have limits, keep all that was there, and are added once', () => {
    const value = fc.integer({ min: 100, max: 160 }).map((n) => `ord-${n}`);
    const values = fc.array(value, { minLength: 5, maxLength: 40 }).map((all) => all.join(' '));
    const own = counter.text(TEXT);
    const numRuns = runs(25, 100);
    const maxima = fc.integer({ min: own, max: own + 1_000 });
    let added = 0;
    forAll(numRuns, values, values, maxima, (before, after, maxTokens) => {
      const order = { covered: [shown(before)], later: [user(after)], maxTokens };
      const text = proven(order);
      expect(counter.text(text)).toBeLessThanOrEqual(Math.min(maxTokens, own + maxTokens / 8));
      expect(splitLedger(text).body).toBe(splitLedger(TEXT).body);
      const [line = '', ...rest] = ledgerOf(text);
      expect(line.startsWith('ord-1, ord-2')).toBe(true);
      expect(rest).toEqual(['- from 3: search']);
      for (const one of line.split(', ').slice(2)) expect(`${before}|${after}`).toMatch(`${one}`);
      expect(proven(order)).toBe(text);
      if (text === TEXT) return;
      added++;
      // The rest had no room, so with the same room nothing is added to it.
      const again = proven({ ...order, text, maxTokens: counter.text(text) });
      expect(again).toBe(text);
    });
    expect(added).toBeGreaterThan(numRuns / 2);
  });
});
