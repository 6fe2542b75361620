import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import { type Repeat, repeatsIn } from '../../../../src/memory/edits/repeats.ts';
import {
  brokenRichConversation,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import {
  assistant,
  body,
  calls,
  lines,
  read,
  result,
  step,
  user,
} from '../../../support/conversations/chat.ts';
import { contextOf } from '../../../support/laws/edits.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { messagesOf, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const OBSERVATION = ['Observation:'];

/** By message: why it is a repeat, and of which message. */
function repeats(messages: readonly Message[]): Record<number, string> {
  const read = repeatsOf(messages);
  return Object.fromEntries([...read].map(([message, { reason, by }]) => [message, `${reason} ${by}`]));
}

function repeatsOf(messages: readonly Message[]): ReadonlyMap<number, Repeat> {
  return repeatsIn(contextOf(readHistory(read(messages), OBSERVATION))).repeats;
}

const asked = (id: string, name: string, input: string, output: unknown): Message[] => [
  calls([id, name, input]),
  result(id, output),
];

describe('what is said again', () => {
  const A = '{"path":"a"}';
  const B = '{"path":"b"}';

  it.each<[what: string, messages: Message[], expected: Record<number, string>]>([
    ['nothing', [...asked('1', 'f', A, 'x'), ...asked('2', 'f', B, 'y')], {}],
    [
      'the same output of another call',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', B, 'x')],
      { 1: 'duplicate 3' },
    ],
    [
      'the same output of another tool',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'g', A, 'x')],
      { 1: 'duplicate 3' },
    ],
    [
      'another output of the same call',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', A, 'y')],
      { 1: 'superseded 3' },
    ],
    [
      'the same output of the same call',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', A, 'x')],
      { 1: 'duplicate 3' },
    ],
    [
      'another output of another tool with the same arguments',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'g', A, 'y')],
      {},
    ],
    [
      'arguments that are written in another way',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', '{"path": "a"}', 'y')],
      {},
    ],
    [
      'by the nearest later one: the same call first',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', A, 'y'), ...asked('3', 'g', B, 'x')],
      { 1: 'superseded 3' },
    ],
    [
      'by the nearest later one: the same output first',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'g', B, 'x'), ...asked('3', 'f', A, 'y')],
      { 1: 'duplicate 3' },
    ],
    [
      'one after the other',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', A, 'y'), ...asked('3', 'f', A, 'x')],
      { 1: 'superseded 3', 3: 'superseded 5' },
    ],
    [
      'the same in one part',
      [...asked('1', 'f', A, 'x'), ...asked('2', 'f', B, [{ type: 'text', text: 'x' }])],
      { 1: 'duplicate 3' },
    ],
    [
      'by a call of the same message',
      [calls(['1', 'f', A], ['2', 'f', A]), result('1', 'x'), result('2', 'y')],
      { 1: 'superseded 2' },
    ],
    [
      'as text observations',
      [user('go'), assistant('ls'), user('Observation: x'), assistant('ls'), user('Observation: x')],
      { 2: 'duplicate 4' },
    ],
    ['as user messages: nothing', [user('x'), assistant('a'), user('x'), assistant('a')], {}],
    ['by a call that has no result yet: nothing', [...asked('1', 'f', A, 'x'), calls(['2', 'f', A])], {}],
  ])('%s', (_, messages, expected) => {
    expect(repeats(messages)).toEqual(expected);
  });

  it('is found among repeated ids by their calls', () => {
    const messages = [
      ...asked('call', 'f', A, 'x'),
      ...asked('call', 'f', B, 'y'),
      ...asked('call', 'f', A, 'z'),
    ];
    expect(repeats(messages)).toEqual({ 1: 'superseded 5' });
  });

  it('is said by the nearest later output, in every conversation', () => {
    forAll({ numRuns: runs(20, 100), endOnFailure: true }, richConversation, ({ messages }) => {
      const history = readHistory(read(messages), OBSERVATION);
      const outputs = history.units
        .flatMap((unit) => unit.outputs)
        .map(({ message, call }) => ({
          message,
          text: history.messages[message]?.content().text,
          asked: call && `${call.name} ${call.input}`,
        }));
      const found = repeatsOf(messages);
      for (const { message, text, asked } of outputs) {
        const again = outputs.find(
          (later) =>
            later.message > message &&
            (later.text === text || (asked !== undefined && later.asked === asked)),
        );
        expect(found.get(message)?.by).toBe(again?.message);
        expect(found.get(message)?.reason).toBe(again && (again.text === text ? 'duplicate' : 'superseded'));
      }
    });
  });

  it('is known of every array up to a message as of all longer ones', () => {
    forAll(
      { numRuns: runs(20, 200), endOnFailure: true },
      fc.oneof(richConversation, brokenRichConversation),
      fc.nat(),
      ({ messages }, anywhere) => {
        const until = 1 + (anywhere % messages.length);
        const early = repeatsOf(messages.slice(0, until));
        const late = [...repeatsOf(messages)].filter(([, { by }]) => by < until);
        expect(new Map(late.toSorted(([a], [b]) => a - b))).toEqual(
          new Map([...early].toSorted(([a], [b]) => a - b)),
        );
      },
    );
  });
});

describe('dedupe', () => {
  const OUTPUT = lines(60);
  const input = {
    mode: 'auto',
    token_soft_budget: 1_000,
    low_watermark_pct: 1,
    compact_preview_tokens: 0,
    compact_min_tokens: 10_000,
    min_reclaim_tokens: 0,
  } as const;
  const shown = (messages: Message[], more: object = {}): string[] =>
    messagesOf(viewOf(body(messages), { ...input, ...more })).map(({ content }) => String(content));
  const tail = [...step('7', 'h', 'a'), ...step('8', 'h', 'b'), ...step('9', 'h', 'c')];
  const steps = [
    user('go'),
    ...asked('1', 'f', '{}', OUTPUT),
    ...asked('2', 'g', '{}', OUTPUT),
    ...asked('3', 'f', '{}', lines(60, 'new')),
    ...tail,
  ];

  it('says why, and keeps the later output, whatever compact_min_tokens is', () => {
    const view = shown(steps);
    expect(view[2]).toMatch(
      /^⟦removed: tool output for f \(call_id=1\); reason=duplicate; ref=ref_[a-z2-7]{26}; tokens=\d+⟧$/,
    );
    expect(view.slice(3)).toEqual(steps.slice(3).map(({ content }) => String(content)));
  });

  it('calls an older answer superseded', () => {
    const messages = [user('go'), ...asked('1', 'f', '{}', OUTPUT), ...steps.slice(5)];
    expect(shown(messages)[2]).toContain('; reason=superseded; ');
  });

  it('shows a preview like every other placeholder', () => {
    expect(shown(steps, { compact_preview_tokens: 48 })[2]).toMatch(/⟧\n60 lines\nheld: /);
  });

  it('takes nothing of a tool that is excluded, and nothing that is not longer than its marker', () => {
    expect(shown(steps, { compact_exclude_tools: ['f'] })[2]).toBe(OUTPUT);
    const small = [user('go'), ...step('1', 'f', 'ok'), ...step('2', 'f', 'ok'), ...steps.slice(3)];
    expect(shown(small)[2]).toBe('ok');
  });

  it('is done of an output that was not passed before its repeat came', () => {
    const OTHER = lines(60, 'other');
    const early = [user('go'), ...asked('1', 'f', '{}', OUTPUT), ...asked('2', 'g', '{}', OTHER), ...tail];
    const later = [...early, ...asked('4', 'g', '{"again":1}', OUTPUT), ...tail];
    const budget = { token_soft_budget: viewOf(body(early), input).plan.replay.before };
    expect(shown(later, budget)[2]).toContain('reason=duplicate');
    // Without a repeat it was over its budget, so the frontier passed it for good.
    expect(shown(later)).toEqual(later.map(({ content }) => String(content)));
  });
});

describe('the repeats of a longer array', () => {
  const output = fc.constantFrom('x', 'y', 'z');
  const spoken = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.constantFrom('f', 'g', 'retrieve_ref'), fc.constantFrom('1', '2'), output),
    },
    fc.constantFrom('ask', 'answer'),
  );
  const messagesFor = (
    all: readonly (typeof spoken extends fc.Arbitrary<infer One> ? One : never)[],
  ): Message[] =>
    all.flatMap((one, index) => {
      if (one === 'ask') return [user(`question ${index}`)];
      if (one === 'answer') return [assistant(`answer ${index}`)];
      const [name, input, said] = one;
      return asked(`${index}`, name, input, said);
    });

  it('include each repeat of a shorter one, unchanged', () => {
    forAll(
      { endOnFailure: true },
      fc.array(spoken, { minLength: 4, maxLength: 14 }),
      fc.nat(30),
      (all, end) => {
        const messages = read([user('go'), ...messagesFor(all)]);
        const context = contextOf(readHistory(messages));
        const longer = repeatsIn(context);
        const history = readHistory(messages.slice(0, 1 + (end % messages.length)));
        const shorter = repeatsIn({ ...context, history });
        for (const [message, repeat] of shorter.repeats) expect(longer.repeats.get(message)).toEqual(repeat);
        for (const [message, recall] of shorter.recalls) expect(longer.recalls.get(message)).toEqual(recall);
      },
    );
  });
});
