import { describe, expect, it } from 'vitest';
import { type ToolResult, textOfResult } from '../../../src/protocol/answers/tool-turn.ts';
import { chatFormat } from '../../../src/protocol/chat/format.ts';
import { messagesFormat } from '../../../src/protocol/messages/format.ts';
import { responsesFormat } from '../../../src/protocol/responses/format.ts';
import { Retriever } from '../../../src/retrieval/retriever.ts';
import { counter, tenant } from '../../support/laws/view-of.ts';

const FORMATS = { chat: chatFormat, responses: responsesFormat, messages: messagesFormat };

/** A PNG's head of 640 × 480 pixels, and noise. */
const PIXELS = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.from([0, 0, 2, 128, 0, 0, 1, 224]),
  Buffer.from(Array.from({ length: 30_000 }, (_, at) => (at * 7_919 + (at >> 7)) & 255)),
]).toString('base64');
const PNG = `data:image/png;base64,${PIXELS}`;
const PDF = Buffer.from('%PDF-1.7 '.repeat(2_000)).toString('base64');

const IMAGES: Record<string, unknown> = {
  'of chat': { type: 'image_url', image_url: { url: PNG } },
  'of Responses': { type: 'input_image', image_url: PNG, detail: 'auto' },
  'of Messages': { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXELS } },
};

interface Fetching {
  readonly type?: string;
  readonly room?: number;
  readonly more?: object;
  /** The result of an earlier call for all of it. */
  readonly held?: string;
}

/** The result of a fetch of a stored content, over a protocol. */
function fetched(
  stored: unknown,
  protocol: keyof typeof FORMATS,
  { type = 'application/json', room, more = {}, held }: Fetching = {},
): Promise<ToolResult> {
  const ref = tenant.refs.name('a content', () => 'a content');
  const content = new TextEncoder().encode(typeof stored === 'string' ? stored : JSON.stringify(stored));
  const metadata = {
    tool_name: 'shot',
    tool_call_id: 'c',
    content_type: type,
    tokens: 1,
    bytes: 1,
    created: 1,
  };
  const get = async () => ({ content, metadata }) as never;
  const shelf = { owns: () => true, get, unknown: () => {}, failed: () => {} };
  const carries = FORMATS[protocol].carries;
  const before = held === undefined ? [] : [{ args: JSON.stringify({ ref }), result: held }];
  return new Retriever(shelf, counter, () => true, room, before, carries).answer(
    JSON.stringify({ ref, ...more }),
  );
}

/** What the upstream gets of a result. */
function written(result: ToolResult, protocol: keyof typeof FORMATS): string {
  const turn = { messages: [], calls: [{ id: 'call_1', name: 'retrieve_ref', arguments: '{}' }] };
  const body = new TextEncoder().encode(
    '{"model":"m","messages":[{"role":"user","content":"a"}],"input":[{"role":"user","content":"a"}]}',
  );
  return new TextDecoder().decode(FORMATS[protocol].goOn(body, turn, [result]).body);
}

describe.each(Object.entries(IMAGES))('an image %s that is fetched', (_, image) => {
  it('is in the result of Responses and of Messages', async () => {
    for (const stored of [image, [image], [{ type: 'text', text: 'the cart' }, image]]) {
      const answered = written(await fetched(stored, 'responses'), 'responses');
      const { input } = JSON.parse(answered);
      expect(input[1].output.at(-1)).toEqual({ type: 'input_image', image_url: PNG, detail: 'auto' });
      expect(JSON.stringify(input[1].output.slice(0, -1))).not.toContain(PIXELS.slice(0, 100));
      const { messages } = JSON.parse(written(await fetched(stored, 'messages'), 'messages'));
      const source = { type: 'base64', media_type: 'image/png', data: PIXELS };
      expect(messages[1].content[0].content.at(-1)).toEqual({ type: 'image', source });
    }
  });

  it('is described in chat, whose results hold text alone, beside its caption', async () => {
    const result = await fetched([{ type: 'text', text: 'the cart' }, image], 'chat');
    const { messages } = JSON.parse(written(result, 'chat'));
    expect(messages[1].content).toMatch(
      /^the cart\n\[image, image\/png, 30024 bytes, 640 × 480 pixels; it can't be shown here\./,
    );
    expect(messages[1].content.length).toBeLessThan(300);
  });

  it('is described where there is no room for it, and where a part is asked for', async () => {
    for (const fetching of [{ room: 500 }, { more: { lines: '1-2' } }, { more: { path: '$[0]' } }]) {
      const result = textOfResult(await fetched([image], 'messages', fetching));
      expect(result).toContain("it can't be shown here");
      expect(result).not.toContain(PIXELS.slice(0, 100));
    }
  });
});

describe('other contents that are fetched', () => {
  it('are files in the results that carry them, and words in those that do not', async () => {
    const file = {
      type: 'file',
      file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
    };
    const { input } = JSON.parse(written(await fetched(file, 'responses'), 'responses'));
    expect(input[1].output.at(-1)).toMatchObject({ type: 'input_file', filename: 'a.pdf' });
    const { messages } = JSON.parse(written(await fetched(file, 'messages'), 'messages'));
    expect(messages[1].content[0].content.at(-1)).toMatchObject({ type: 'document', title: 'a.pdf' });
    expect(textOfResult(await fetched(file, 'chat'))).toContain('file "a.pdf", application/pdf');
  });

  it('are words where no vendor takes their type', async () => {
    const audio = { type: 'input_audio', input_audio: { data: PIXELS, format: 'wav' } };
    for (const protocol of ['chat', 'responses', 'messages'] as const) {
      const result = await fetched([audio], protocol);
      expect(result).toMatch(/^\[audio, audio\/wav, 30024 bytes; it can't be shown here/);
    }
  });

  it('have their paths after a result that holds all of them in words', async () => {
    const parts = [{ type: 'text', text: 'the cart' }, IMAGES['of chat']];
    const whole = textOfResult(await fetched(parts, 'chat'));
    expect(whole).toMatch(/^the cart\n\[image/);
    expect(await fetched(parts, 'chat', { more: { path: '$[0].text' }, held: whole })).toBe('"the cart"');
  });

  it('stay as they are where a tool has returned them as text', async () => {
    const text = JSON.stringify({ content: [{ type: 'image', data: PIXELS, mimeType: 'image/png' }] });
    const result = await fetched(text, 'messages', {
      type: 'text/plain; charset=utf-8',
      more: { max_tokens: 32_000 },
    });
    expect(textOfResult(result).slice(0, 2_000)).toBe(text.slice(0, 2_000));
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'https://a.test/1.png' } },
    ];
    expect(await fetched(parts, 'messages')).toBe(JSON.stringify(parts));
  });
});
