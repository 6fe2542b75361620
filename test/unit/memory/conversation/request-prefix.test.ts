import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  callerChange,
  lineOf,
  packedMessages,
  type RequestPrefix,
  withLine,
} from '../../../../src/memory/conversation/request-prefix.ts';
import { CALLER_CAUSES } from '../../../../src/memory/replay/change-schema.ts';
import { forAll } from '../../../support/laws/runs.ts';

const hashes = fc.uniqueArray(fc.stringMatching(/^[\w-]{3}$/), { minLength: 3, maxLength: 30 });

const prefixOf = (messages: readonly string[], fields: Partial<RequestPrefix> = {}): RequestPrefix => ({
  model: 'm',
  tools: '',
  effort: '',
  format: '',
  user: '',
  key: '',
  own: '',
  messages: packedMessages(messages),
  ...fields,
});

describe('what a caller has changed since an earlier request', () => {
  it('is nothing where messages were only added, or the newest ones taken back', () => {
    forAll(hashes, fc.nat(), (all, cut) => {
      const some = all.slice(0, 1 + (cut % all.length));
      expect(callerChange(prefixOf(some), prefixOf(all))).toBeUndefined();
      expect(callerChange(prefixOf(all), prefixOf(some))).toBeUndefined();
    });
  });

  it('is the first message that differs, by its number', () => {
    forAll(hashes, fc.nat(), fc.nat(), (all, one, other) => {
      const edited = [...new Set([one % all.length, other % all.length])];
      const now = all.map((hash, at) => (edited.includes(at) ? `${hash.slice(0, 2)}~` : hash));
      const message = Math.min(...edited);
      expect(callerChange(prefixOf(all), prefixOf([...now, 'new']))).toEqual({ cause: 'message', message });
    });
  });

  it('is the setting that comes first, before any message', () => {
    const settings = CALLER_CAUSES.filter((cause) => cause !== 'message');
    for (const [at, cause] of settings.entries()) {
      const changed = Object.fromEntries(settings.slice(at).map((name) => [name, 'other']));
      expect(callerChange(prefixOf(['abc']), prefixOf(['xyz'], changed))).toEqual({ cause });
    }
  });
});

describe('the line that a request continues', () => {
  it('is the one of its own agent, however many run in one conversation', () => {
    forAll(hashes, hashes, fc.nat(), (one, other, edit) => {
      const isOwn =
        other.filter((hash) => one.includes(hash)).length * 2 <= Math.min(one.length, other.length);
      fc.pre(isOwn);
      const lines = [prefixOf(one), prefixOf(other)];
      const edited = one.with(edit % one.length, '~~~');
      expect(lineOf(lines, prefixOf([...edited, 'new']))).toBe(lines[0]);
      expect(lineOf(lines.slice(1), prefixOf([...one, 'new']))).toBeUndefined();
    });
  });

  it('is replaced by it, and a fifth line replaces the oldest', () => {
    const lines = ['a', 'b', 'c', 'd'].map((hash) => prefixOf([hash.repeat(3)]));
    const [first, second, third, fourth] = lines;
    const longer = prefixOf(['ccc', 'eee']);
    expect(withLine(lines, longer, third)).toEqual([longer, first, second, fourth]);
    expect(withLine(lines, prefixOf(['new']), undefined)).toEqual([prefixOf(['new']), first, second, third]);
  });

  it('takes a bounded room, whatever comes', () => {
    const long = Array.from({ length: 10_000 }, (_, at) => String(at).padStart(3, '0'));
    let lines: readonly RequestPrefix[] = [];
    for (const start of ['a', 'b', 'c', 'd', 'e'])
      lines = withLine(lines, prefixOf(long.map((hash) => `${start}${hash}`)), undefined);
    expect(JSON.stringify(lines).length).toBeLessThan(25_000);
  });
});
