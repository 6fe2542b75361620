import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { assistant, calls, read, result, step, system, user } from '../../../support/conversations/chat.ts';

const history = (messages: Record<string, unknown>[], prefixes: string[] = []) =>
  readHistory(read(messages), prefixes);
const ranges = (messages: Record<string, unknown>[], prefixes: string[] = []) =>
  history(messages, prefixes).units.map(({ kind, first, last }) => [kind, first, last]);

describe('the units of a history', () => {
  it('are one user message, or one assistant message with the results of its calls', () => {
    const messages = [
      user('a'),
      calls(['1', 'f'], ['2', 'g']),
      result('1', 'x'),
      result('2', 'y'),
      assistant('done'),
    ];
    expect(ranges(messages)).toEqual([
      ['user', 0, 0],
      ['assistant', 1, 3],
      ['assistant', 4, 4],
    ]);
  });

  it('hold all results of ten parallel calls, whatever their order', () => {
    const ids = Array.from({ length: 10 }, (_, index) => `call_${index}`);
    const made = calls(...ids.map((id): [string, string] => [id, 'f']));
    const messages = [user('a'), made, ...ids.toReversed().map((id) => result(id, id))];
    expect(ranges(messages).at(-1)).toEqual(['assistant', 1, 11]);
  });

  it('leave out the preamble, wherever it is', () => {
    const messages = [
      system('s'),
      user('a'),
      system('late'),
      ...step('1', 'f', 'x'),
      { role: 'developer', content: 'd' },
    ];
    expect(ranges(messages)).toEqual([
      ['user', 1, 1],
      ['assistant', 3, 4],
    ]);
  });

  it('take a message of an unknown role for preamble, so that nothing ever edits it', () => {
    expect(read([{ role: 'critic', content: 'x' }])[0]?.role).toBe('preamble');
  });

  it('F25: keep a result that comes after the model was asked again apart, bound to its call', () => {
    const messages = [
      user('a'),
      calls(['1', 'f']),
      user('wait'),
      assistant('yes'),
      result('1', 'x'),
      assistant('end'),
    ];
    expect(ranges(messages)).toEqual([
      ['user', 0, 0],
      ['assistant', 1, 1],
      ['user', 2, 2],
      ['assistant', 3, 3],
      ['late', 4, 4],
      ['assistant', 5, 5],
    ]);
    const { turns, bonds } = history(messages);
    expect(turns).toEqual([0, 2]);
    expect(bonds).toEqual([{ caller: 1, open: false, results: [{ unit: 4, message: 4, further: false }] }]);
  });

  it('F25: are the same at each request point as in the array that ended there', () => {
    const messages = [
      user('a'),
      calls(['1', 'f'], ['2', 'g']),
      result('2', 'y'),
      assistant('b'),
      calls(['3', 'f']),
      calls(['4', 'g']),
      result('3', 'z'),
      result('1', 'x'),
      result('4', 'w'),
      assistant('c'),
      result('2', 'again'),
    ];
    const { units, requestPoints } = history(messages);
    for (const point of requestPoints) {
      const then = history(messages.slice(0, point.messages)).units;
      const spans = (some: typeof units) => some.map(({ kind, first, last }) => [kind, first, last]);
      expect(spans(units.slice(0, point.units))).toEqual(spans(then));
    }
  });

  it('F25: close over calls of one answer whose results come in another order', () => {
    const messages = [user('a'), calls(['1', 'f']), calls(['2', 'g']), result('1', 'x'), result('2', 'y')];
    expect(ranges(messages)).toEqual([
      ['user', 0, 0],
      ['assistant', 1, 4],
    ]);
  });

  it('hold the messages that continue an answer, with the results of their calls', () => {
    const messages = read([
      user('a'),
      assistant('Let me see.'),
      calls(['1', 'f']),
      result('1', 'x'),
      assistant('And now?'),
      assistant('done'),
      user('b'),
    ]);
    const continuing = new Set([2, 5, 6]);
    const continued = messages.map((message, index) =>
      Object.create(message, { continues: { value: continuing.has(index) } }),
    );
    const { units, requestPoints, bonds } = readHistory(continued);
    expect(units.map(({ first, last, step, outputs }) => [first, last, step, outputs.length])).toEqual([
      [0, 0, false, 0],
      [1, 3, true, 1],
      [4, 5, false, 0],
      [6, 6, false, 0],
    ]);
    expect(bonds).toEqual([]);
    expect(requestPoints.map((point) => point.units)).toEqual([1, 2, 4]);
  });

  it('keep an orphaned result apart', () => {
    expect(ranges([user('a'), result('nobody', 'x'), assistant('b')])).toEqual([
      ['user', 0, 0],
      ['orphan', 1, 1],
      ['assistant', 2, 2],
    ]);
  });
});

describe('the pairing of calls and results', () => {
  it('gives a result to the nearest earlier call of its id that has none yet', () => {
    const messages = [
      user('a'),
      ...step('call_1', 'first', 'x'),
      user('b'),
      ...step('call_1', 'second', 'y'),
    ];
    const tools = history(messages).units.flatMap((unit) => unit.outputs.map((output) => output.call?.name));
    expect(tools).toEqual(['first', 'second']);
  });

  it('answers calls of one message that share an id in their order', () => {
    const messages = [
      user('a'),
      calls(['same', 'first'], ['same', 'second']),
      result('same', 'x'),
      result('same', 'y'),
    ];
    expect(history(messages).units[1]?.outputs.map((output) => output.call?.name)).toEqual([
      'first',
      'second',
    ]);
  });

  it('keeps a further result of a call with it, and gives it to no call', () => {
    const messages = [user('a'), ...step('1', 'f', 'x'), result('1', 'again'), assistant('b')];
    expect(ranges(messages)).toEqual([
      ['user', 0, 0],
      ['assistant', 1, 3],
      ['assistant', 4, 4],
    ]);
    expect(history(messages).units[1]?.outputs.map(({ message }) => message)).toEqual([2]);
  });

  it('keeps it with its call also after other steps, and not after another turn', () => {
    const late = [user('a'), ...step('1', 'f', 'x'), ...step('2', 'g', 'y'), result('1', 'again')];
    expect(ranges(late).at(-1)).toEqual(['late', 5, 5]);
    expect(history(late).bonds).toEqual([
      { caller: 1, open: false, results: [{ unit: 3, message: 5, further: true }] },
    ]);
    const later = [user('a'), ...step('1', 'f', 'x'), user('b'), result('1', 'again')];
    expect(ranges(later).at(-1)).toEqual(['orphan', 4, 4]);
  });

  it('reads the deprecated function_call and its function message', () => {
    const called = assistant(null, { function_call: { name: 'f', arguments: '{}' } });
    const messages = [user('a'), called, { role: 'function', name: 'f', content: 'x' }];
    expect(history(messages).units[1]).toMatchObject({ last: 2, unanswered: 0, step: true });
  });
});

describe('calls without a result', () => {
  it('are counted by their unit', () => {
    const messages = [
      user('a'),
      calls(['1', 'f'], ['2', 'g']),
      result('1', 'x'),
      user('b'),
      calls(['3', 'f']),
    ];
    expect(history(messages).units.map((unit) => unit.unanswered)).toEqual([0, 1, 0, 1]);
  });
});

describe('the turns of a history', () => {
  it('begin at each user message, two in a row being two', () => {
    expect(history([user('a'), user('b'), assistant('c'), user('d')]).turns).toEqual([0, 1, 3]);
  });

  it('are none without a user message', () => {
    expect(history([system('s'), assistant('a'), ...step('1', 'f', 'x')]).turns).toEqual([]);
  });
});

describe('text observations in a history', () => {
  const messages = [
    user('solve'),
    assistant('run ls'),
    user('  Observation: a b c'),
    assistant('ok'),
    user('thanks'),
  ];

  it('are turns unless their prefix is named', () => {
    expect(history(messages).turns).toHaveLength(3);
  });

  it('are outputs of the assistant message before them', () => {
    const { turns, units } = history(messages, ['Observation:']);
    expect(turns).toEqual([0, 3]);
    expect(units[1]).toMatchObject({ first: 1, last: 2, step: true, outputs: [{ message: 2 }] });
  });

  it('are turns when no assistant message precedes them', () => {
    expect(history([user('Observation: a'), assistant('b')], ['Observation:']).turns).toEqual([0]);
  });
});

describe('the request points of a history', () => {
  const points = (messages: Record<string, unknown>[]) =>
    history(messages).requestPoints.map(({ messages, units, turns }) => [messages, units, turns]);

  it('are before each assistant message that follows a user or tool message, and at the end', () => {
    const messages = [
      system('s'),
      user('a'),
      ...step('1', 'f', 'x'),
      assistant('b'),
      assistant('c'),
      user('d'),
    ];
    expect(points(messages)).toEqual([
      [2, 1, 1],
      [4, 2, 1],
      [7, 5, 2],
    ]);
  });

  it('look past a system message in between', () => {
    expect(points([user('a'), system('s'), assistant('b')]).map(([end]) => end)).toEqual([2, 3]);
  });
});
