import { describe, expect, it } from 'vitest';
import { dataHeadOf } from '../../../src/protocol/held-media.ts';
import { bridged, user } from './bridges/messages/bridged.ts';

describe('a data URL', () => {
  it.each([
    ['data:image/png;base64,iVBOR', { length: 22, mediaType: 'image/png' }],
    ['DATA:text/plain;charset=utf-8;name=a.txt;Base64,SGk=', { length: 48, mediaType: 'text/plain' }],
    [
      `data:application/pdf;name=${'n'.repeat(2_000)};base64,JVBE`,
      { length: 2_034, mediaType: 'application/pdf' },
    ],
    ['data:;base64,SGk=', { length: 13, mediaType: '' }],
    ['data:text/plain,Hi;base64,', undefined],
    ['data:image/png;base64', undefined],
    ['https://a.test/?data:;base64,SGk=', undefined],
    ['', undefined],
  ])('is known by its head: %s', (url, head) => {
    expect(dataHeadOf(url)).toEqual(head);
  });

  it('is read once, however long it is without a head', () => {
    const url = `data:${'a'.repeat(2_000_000)}`;
    const { body } = bridged({ messages: [user([{ type: 'image_url', image_url: { url } }])] });
    expect(body.messages).toEqual([user([{ type: 'image', source: { type: 'url', url } }])]);
  });
});
