import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataFrame, eventFrame, Frame } from '../../../../src/protocol/answers/sse.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { forAll } from '../../../support/laws/runs.ts';

describe('a frame of Precis', () => {
  it.each([
    ['without a name', dataFrame],
    ['with one', (data: string) => eventFrame('response.completed', data)],
  ])('%s gives back its data, of however many lines', (_, frameOf) => {
    forAll(fc.string({ unit: fc.constantFrom('a', ' ', ':', '\n', '{'), minLength: 1 }), (data) => {
      expect(new Frame(frameOf(data)).data).toBe(data);
    });
  });
});

describe('an event that an upstream writes in several lines', () => {
  const tools = [{ type: 'function', name: 'retrieve_ref' }];
  const event = { type: 'response.completed', response: { id: 'resp_1', tools, output: [] } };
  const data = JSON.stringify(event, null, 2);

  it('can be read when something is changed in it', () => {
    const streams = responsesFormat.joinStreams(new Set(['retrieve_ref']), () => true);
    const frames = streams.take(new Frame(eventFrame(event.type, data)));
    expect(frames.map(({ bytes }) => new Frame(bytes).json)).toEqual([
      { ...event, response: { ...event.response, tools: [] } },
    ]);
  });
});
