import { describe, expect, it } from 'vitest';
import { constraintsIn, survivalIn } from '../../../bench/replay/constraints.ts';
import { assistant, system, user } from '../../support/conversations/chat.ts';

describe('constraints', () => {
  it("are the user's sentences with always, never, must or don't", () => {
    const said = [
      system('You must be polite.'),
      user('Look at it. Always run the tests first! Never push.\nYou don’t deploy'),
      assistant('I must look at it.'),
      user([
        { type: 'text', text: 'Do not touch main. It is mustard.' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,must' } },
      ]),
    ];

    expect(constraintsIn(said)).toEqual([
      { sentence: 'Always run the tests first!', message: 1 },
      { sentence: 'You don’t deploy', message: 1 },
      { sentence: 'Do not touch main.', message: 3 },
    ]);
  });

  it('count once, where they are said first', () => {
    const said = [user('You must not stop.'), user('You must not stop. You must go on.')];

    expect(constraintsIn(said)).toEqual([
      { sentence: 'You must not stop.', message: 0 },
      { sentence: 'You must go on.', message: 1 },
    ]);
  });
});

describe('the survival of constraints', () => {
  const constraints = [
    { sentence: 'You must not stop.', message: 0 },
    { sentence: 'You must go on.', message: 4 },
  ];
  const view = (
    count: number,
    rollUps: number,
    ...texts: string[]
  ): Parameters<typeof survivalIn>[1][number] => ({
    count,
    rollUps,
    messages: texts.map((text) => ({ text })),
  });

  it('is the last view’s after each number of roll-ups, of what was given by then', () => {
    const views = [
      view(1, 0, 'nothing'),
      view(3, 0, 'First. You must not stop. Then rest.'),
      view(5, 1, 'It must not stop.', 'You must go on.'),
    ];

    expect(survivalIn(constraints, views)).toEqual([
      { rollUps: 0, given: 1, kept: 1 },
      { rollUps: 1, given: 2, kept: 1 },
    ]);
  });

  it('puts three roll-ups and more together, and needs a constraint', () => {
    const views = [view(5, 3, 'You must go on.'), view(7, 5, 'You must stop.')];

    expect(survivalIn(constraints, views)).toEqual([{ rollUps: 3, given: 2, kept: 0 }]);
    expect(survivalIn([], views)).toEqual([]);
  });
});
