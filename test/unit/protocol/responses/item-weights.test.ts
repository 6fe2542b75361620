/**
 * The tokens of items with media: an image or a file has a flat price, and base64 in a text counts
 * as text.
 */
import { describe, expect, it } from 'vitest';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { counter, viewOf, viewOfRequest } from '../../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const BASE64 = Buffer.from(Array.from({ length: 30_000 }, (_, at) => (at * 7919) % 251)).toString('base64');
const IMAGE_URL = `data:image/png;base64,${BASE64}`;
const IMAGE = 765;

function tokensOf(input: readonly Json[]): number {
  const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify({ model: 'gpt-5', input })));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value.messages.reduce((sum, message) => sum + counter.message(message), 0);
}

const call = (type: string, call_id = 'c'): Json => ({
  type,
  call_id,
  name: 'f',
  arguments: '{}',
  input: '',
});

const HELD: [name: string, items: Json[], images: number][] = [
  [
    'an image that code has drawn',
    [
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        code: 'plot()',
        container_id: 'cntr_1',
        outputs: [
          { type: 'logs', logs: 'drawn' },
          { type: 'image', url: IMAGE_URL },
          { type: 'image', url: IMAGE_URL },
        ],
      },
    ],
    2,
  ],
  ['an image that a model has made', [{ type: 'image_generation_call', id: 'ig_1', result: BASE64 }], 1],
  [
    'a screenshot',
    [
      call('computer_call'),
      {
        type: 'computer_call_output',
        call_id: 'c',
        output: { type: 'computer_screenshot', image_url: IMAGE_URL },
      },
    ],
    1,
  ],
  [
    'an image that a function gives back',
    [
      call('function_call'),
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: IMAGE_URL }] },
    ],
    1,
  ],
  [
    'an image that a custom tool gives back, beside a part of an unknown kind',
    [
      call('custom_tool_call'),
      {
        type: 'custom_tool_call_output',
        call_id: 'c',
        output: [
          { type: 'input_image', image_url: IMAGE_URL },
          { type: 'something_new', image_url: IMAGE_URL },
        ],
      },
    ],
    2,
  ],
  [
    'an image in what an MCP server gives back',
    [
      {
        type: 'mcp_call',
        id: 'mcp_1',
        server_label: 's',
        name: 'f',
        arguments: '{}',
        output: [{ type: 'image', data: BASE64, mimeType: 'image/png' }],
      },
    ],
    1,
  ],
  [
    'an image of a kind of item that nobody knows',
    [{ type: 'something_new_call', id: 'x_1', shown: { picture: { url: IMAGE_URL } } }],
    1,
  ],
];

describe('the weight of an item', () => {
  it.each(HELD)('F27: with %s weighs that at the flat price', (_, items, images) => {
    const tokens = tokensOf(items);
    expect(tokens).toBeGreaterThanOrEqual(images * IMAGE);
    expect(tokens).toBeLessThan(images * IMAGE + 150);
  });

  it.each([
    [
      'a file',
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${BASE64}` },
      1_500,
    ],
    ['speech', { type: 'input_audio', input_audio: { data: BASE64, format: 'wav' } }, 765],
    ['a low image', { type: 'input_image', image_url: IMAGE_URL, detail: 'low' }, 85],
  ])('F27: of a user with %s weighs that at the flat price', (_, part, price) => {
    const tokens = tokensOf([{ role: 'user', content: [part, { type: 'something_new', of: 'text' }] }]);
    expect(tokens).toBeGreaterThanOrEqual(price);
    expect(tokens).toBeLessThan(price + 60);
  });

  it.each([
    ['an output', [call('function_call'), { type: 'function_call_output', call_id: 'c', output: IMAGE_URL }]],
    [
      'the logs of code',
      [{ type: 'code_interpreter_call', id: 'c', outputs: [{ type: 'logs', logs: IMAGE_URL }] }],
    ],
    [
      'the output of an MCP server',
      [{ type: 'mcp_call', id: 'm', name: 'f', arguments: '{}', output: IMAGE_URL }],
    ],
  ])('F27: whose text is base64 weighs that as text, in %s', (_, items) => {
    expect(tokensOf(items)).toBeGreaterThan(counter.text(BASE64));
  });

  it('F27: that draws is no reason to summarize earlier messages', () => {
    const drawn = {
      type: 'code_interpreter_call',
      id: 'ci_1',
      code: 'plot()',
      outputs: [{ type: 'image', url: IMAGE_URL }],
    };
    const later = ['Again.', 'Larger.', 'In blue.', 'Thanks.'].map((content) => ({ role: 'user', content }));
    const input = [{ role: 'user', content: 'Draw.' }, drawn, ...later];
    const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify({ model: 'gpt-5', input })));
    if (!read.ok) throw new Error(read.reason.message);
    const { report } = viewOfRequest(read.value, { mode: 'summarize', token_budget: 3_000 });
    expect(report.applied_edits).toEqual([]);
  });
});

it('F27: a message of chat with an image beside a part of an unknown kind weighs the image at its flat price', () => {
  const content = [
    { type: 'image_url', image_url: { url: IMAGE_URL } },
    { type: 'something_new', of: 'text' },
  ];
  const { report } = viewOf(
    { model: 'gpt-4.1', messages: [{ role: 'user', content }] },
    { mode: 'trim', token_budget: 1 },
  );
  expect(report.tokens?.before).toBeLessThan(IMAGE + 60);
});
