import { describe, expect, it } from 'vitest';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import type { Entry } from '../../../../src/memory/conversation/passage.ts';
import { readChatRequest } from '../../../../src/protocol/chat/request.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { entriesOf } from '../../../../src/summary/text/entries.ts';
import { splitLedger } from '../../../../src/summary/text/headings.ts';
import { collectLedger, writeLedger } from '../../../../src/summary/text/ledger.ts';
import { counter } from '../../../support/laws/view-of.ts';

const ADDRESS = 'https://files.test/contracts/2026?token=a1b2&page=2';
const INLINE = `data:application/pdf;base64,${'JVBERi0x'.repeat(40)}`;

const READ = {
  chat: (content: unknown) => readChatRequest(bytesOf({ messages: [{ role: 'user', content }] })),
  responses: (content: unknown) => readResponsesRequest(bytesOf({ input: [{ role: 'user', content }] })),
  messages: (content: unknown) => readMessagesRequest(bytesOf({ messages: [{ role: 'user', content }] })),
};

function bytesOf(body: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ model: 'a-model', max_tokens: 9, ...body }));
}

/** The entry of a user's message with these parts. */
function entryOf(protocol: keyof typeof READ, ...parts: object[]): Entry {
  const request = READ[protocol](parts);
  if (!request.ok) throw new Error(request.reason.message);
  const { messages } = request.value;
  const [entry] = entriesOf(readHistory(messages), 0, messages.length, 'readable');
  if (!entry) throw new Error('there is no entry');
  return entry;
}

const ledgerOf = (entries: readonly Entry[], priorLedger = '', maxTokens = 300): string =>
  writeLedger(collectLedger(entries, priorLedger), {
    maxTokens,
    counter,
    alreadyIn: '',
    includeTrajectory: true,
  });

const PARTS: [protocol: keyof typeof READ, part: object, line: string][] = [
  ['chat', { type: 'file', file: { file_id: 'file-Xy12' } }, 'file file-Xy12'],
  [
    'chat',
    { type: 'file', file: { filename: 'Der Vertrag.pdf', file_data: INLINE } },
    'file Der Vertrag.pdf',
  ],
  ['chat', { type: 'image_url', image_url: { url: ADDRESS } }, `image ${ADDRESS}`],
  [
    'responses',
    { type: 'input_file', filename: 'Der Vertrag.pdf', file_data: INLINE },
    'file Der Vertrag.pdf',
  ],
  ['responses', { type: 'input_file', file_id: 'file-Xy12' }, 'file file-Xy12'],
  ['responses', { type: 'input_file', file_url: ADDRESS }, `file ${ADDRESS}`],
  ['responses', { type: 'input_image', file_id: 'file-Xy12', detail: 'auto' }, 'image file-Xy12'],
  ['responses', { type: 'input_image', image_url: ADDRESS, detail: 'auto' }, `image ${ADDRESS}`],
  ['messages', { type: 'image', source: { type: 'url', url: ADDRESS } }, `image ${ADDRESS}`],
  ['messages', { type: 'image', source: { type: 'file', file_id: 'file_01' } }, 'image file_01'],
  [
    'messages',
    { type: 'document', title: 'Der Vertrag', source: { type: 'url', url: ADDRESS } },
    `file Der Vertrag, ${ADDRESS}`,
  ],
  [
    'messages',
    {
      type: 'document',
      title: 'Der Vertrag',
      source: { type: 'base64', media_type: 'application/pdf', data: INLINE.slice(28) },
    },
    'file Der Vertrag',
  ],
];

describe('an attachment of a user', () => {
  it.each(PARTS)('of %s, %j, is named to the summarizer and in the ledger', (protocol, part, line) => {
    const entry = entryOf(
      protocol,
      { type: protocol === 'responses' ? 'input_text' : 'text', text: 'Here.' },
      part,
    );
    expect(entry.text).toBe(`Here.\n[${line}]`);
    expect(ledgerOf([entry])).toContain(`- sent in 0: ${line}`);
    expect(ledgerOf([entry])).not.toContain('JVBERi0x');
  });

  it.each([
    ['chat', { type: 'image_url', image_url: { url: INLINE } }, '[image]'],
    ['chat', { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }, '[audio]'],
    ['responses', { type: 'input_file', file_data: INLINE }, '[file]'],
    [
      'messages',
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
      '[image]',
    ],
  ] as const)('without a name, of %s, is mentioned and in no ledger: %j', (protocol, part, text) => {
    const entry = entryOf(protocol, part);
    expect(entry.text).toBe(text);
    expect(ledgerOf([entry])).toBe('');
  });
});

describe('the attachments in a ledger', () => {
  const contract = entryOf('chat', { type: 'file', file: { filename: 'a, b & c.pdf', file_id: 'file-1' } });
  const shots = Array.from({ length: 40 }, (_, at) => ({
    ...entryOf('chat', { type: 'image_url', image_url: { url: `https://shots.test/${at}.png` } }),
    index: at + 1,
  }));

  it('are read again from the ledger before it, so that no later summary loses them', () => {
    const first = splitLedger(`Text.\n\n${ledgerOf([contract])}`).ledger;
    const second = splitLedger(`Text.\n\n${ledgerOf([], first)}`).ledger;
    expect(second).toBe(first);
    expect(second).toContain('a, b & c.pdf, file-1');
  });

  it('with names come before those with addresses alone, and take half of it at most', () => {
    const text = ledgerOf([contract, ...shots, { index: 90, role: 'user', text: 'ORD-4711', calls: [] }]);
    expect(text).toContain('a, b & c.pdf');
    expect(text).toContain('https://shots.test/39.png');
    expect(text).toContain('ORD-4711');
    expect(counter.text(text)).toBeLessThanOrEqual(300);
    const sent = text.split('\n').filter((line) => line.startsWith('- sent in'));
    expect(sent.length).toBeLessThan(40);
    expect(counter.text(sent.join('\n'))).toBeLessThanOrEqual(150);
  });

  it('are without an address for which there is no room', () => {
    const signed = entryOf('messages', {
      type: 'document',
      title: 'Der Vertrag',
      source: { type: 'url', url: `${ADDRESS}&signature=${'f0a9'.repeat(300)}` },
    });
    expect(ledgerOf([signed], '', 60)).toMatch(/- sent in 0: file Der Vertrag$/);
  });

  it('are not repeated where the summary names them in full', () => {
    const facts = collectLedger([contract]);
    const room = { maxTokens: 300, counter, includeTrajectory: true };
    const named = 'The user has sent a, b & c.pdf (file-1).';
    expect(writeLedger(facts, { ...room, alreadyIn: named })).not.toContain('sent in');
    expect(writeLedger(facts, { ...room, alreadyIn: 'The user has sent a, b & c.pdf.' })).toContain('file-1');
  });
});
