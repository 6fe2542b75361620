import { describe, expect, it } from 'vitest';
import { KnownStates } from '../../../../src/memory/conversation/known-states.ts';
import { assistant, read, step, user } from '../../../support/conversations/chat.ts';

const messages = read([user('a'), ...step('1', 'f', 'x'), assistant('b'), user('c')]);
const always = (): boolean => true;

describe('the state of a known array', () => {
  it('goes to the array in which an answer follows, and to no other after it', () => {
    const states = new KnownStates<string>();
    states.keep(messages.slice(0, 3), 'after the step');
    expect(states.take(messages, always)).toBe('after the step');
    expect(states.take(messages, always)).toBeUndefined();
  });

  it.each([
    ['the array is the same', messages.slice(0, 3), always],
    ['no answer follows', [...messages.slice(0, 3), ...read([user('d')])], always],
    ['it does not fit', messages, () => false],
  ])('is given up where %s', (_, longer, fits) => {
    const states = new KnownStates<string>();
    states.keep(messages.slice(0, 3), 'after the step');
    expect(states.take(longer, fits)).toBeUndefined();
    expect(states.take(messages, always)).toBeUndefined();
  });

  it('stays where an array has other messages before it', () => {
    const states = new KnownStates<string>();
    states.keep(messages.slice(0, 3), 'after the step');
    expect(states.take(read([user('a'), assistant('b')]), always)).toBeUndefined();
    expect(states.take(messages, always)).toBe('after the step');
  });

  it('is not kept after a message of the model', () => {
    const states = new KnownStates<string>();
    states.keep(messages.slice(0, 4), 'after the answer');
    expect(states.take(messages, always)).toBeUndefined();
  });
});
