import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { isRemark } from '../../../../src/memory/conversation/remarks.ts';
import { assistant, calls, read, result, step, user } from '../../../support/conversations/chat.ts';

const isOfProgram = (content: unknown): boolean => {
  const [message] = read([{ role: 'user', content }]);
  return message !== undefined && isRemark(message);
};

describe('words after results', () => {
  it.each([
    '<environment_details>\n# Open tabs\na.ts\n</environment_details>',
    '<system-reminder>\nThe file has changed.\n</system-reminder>\n<system-reminder>So.</system-reminder>',
    ' <status kind="tests">4 failed</status>\n',
    '<system-reminder>Say nothing of it unless the user asks.</system-reminder>',
    '[Request interrupted by user]',
    'Progress: 3/10',
    'Step 4 of 20',
    'Tokens used: 12,000 / 200,000',
    '[3/10] files checked',
    '42 % done',
    'Progress: step 4 of 20',
    'Step 4 of 20: reading src/a.ts',
    'Running the tests... 45%',
    'Compiling (3/10)',
    '12 out of 20 files done',
  ])('F28: are of the program that runs the tools, by their form: %j', (text) => {
    expect(isOfProgram(text)).toBe(true);
    expect(isOfProgram([{ type: 'text', text }])).toBe(true);
  });

  it.each([
    'Stop. Use tabs instead.',
    'What about 3 of 10?',
    'Please look at the first 3 of 10 files, and then fix the others, too',
    '<user_query>Use tabs.</user_query>',
    '<feedback>Use tabs.</feedback>',
    '<environment_details>a</environment_details> Use tabs.',
    '<b>Use tabs',
    'Progress: 3/10\nNow use tabs.',
    'Fix 3 of the tests first',
    'Skip 3 of 10 files',
    'Use 50% less memory',
    'No, use 1/4 of it',
    '2 of these matter, delete the others',
    '3/10 is enough, go on with the docs',
    '<system-reminder>\nThe user sent the following message:\nUse tabs.\n</system-reminder>',
    '',
  ])('F28: may be of the user otherwise: %j', (text) => {
    expect(isOfProgram(text)).toBe(false);
  });

  it.each([
    ['Tool loaded.', true],
    ['Loaded 2 tools: f, g', true],
    ['The tool create_order is now available.', true],
    ['Which one?', false],
    ['Stop, use the staging database instead', false],
    ['The staging database is available again, so please use that one from now on', false],
  ])('F28: may say that a tool is there after a result that has loaded one: %j', (text, isSuch) => {
    const [message] = read([user(text)]);
    expect(message && isRemark(message, true)).toBe(isSuch);
    expect(isOfProgram(text)).toBe(false);
  });

  it('may be of the user where one of several parts is, or an image', () => {
    const state = { type: 'text', text: '[saved]' };
    expect(isOfProgram([state, { type: 'text', text: 'Use tabs.' }])).toBe(false);
    const image = { type: 'image_url', image_url: { url: 'https://shop.test/a.png' } };
    expect(isOfProgram([state, image])).toBe(false);
  });
});

describe('the turns of a history', () => {
  const shape = (messages: Record<string, unknown>[]) => {
    const { units, turns, runs } = readHistory(read(messages));
    return { kinds: units.map(({ kind }) => kind), turns, runs };
  };
  const state = user('<environment_details>a.ts</environment_details>');

  it('F28: do not begin with what a program says after results', () => {
    expect(shape([user('a'), ...step('1', 'f', 'x'), state, ...step('2', 'f', 'y'), state])).toEqual({
      kinds: ['user', 'assistant', 'remark', 'assistant', 'remark'],
      turns: [0],
      runs: [],
    });
  });

  it('F28: begin with such words where no results precede them', () => {
    expect(shape([state, assistant('ok'), state]).turns).toEqual([0, 2]);
  });

  it('F28: go on with a run that a user interrupts, until an answer without calls', () => {
    const run = [user('a'), ...step('1', 'f', 'x'), user('use tabs'), ...step('2', 'f', 'y'), state];
    expect(shape(run)).toEqual({
      kinds: ['user', 'assistant', 'user', 'assistant', 'remark'],
      turns: [0, 2],
      runs: [{ request: 0, from: 2, last: 5 }],
    });
    const ended = shape([...run, assistant('done'), user('b'), ...step('3', 'f', 'z'), user('c')]);
    expect(ended.runs).toEqual([
      { request: 0, from: 2, last: 5 },
      { request: 6, from: 8, last: 9 },
    ]);
  });

  it('keep a result together with its call, whatever was said between results', () => {
    const made = calls(['1', 'f'], ['2', 'g']);
    const { units } = readHistory(read([user('a'), made, result('1', 'x'), state, result('2', 'y')]));
    expect(units.map(({ kind, first, last }) => [kind, first, last])).toEqual([
      ['user', 0, 0],
      ['assistant', 1, 4],
    ]);
  });
});
