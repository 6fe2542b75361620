import { describe, expect, it } from 'vitest';
import { responsesViolations } from '../../../tools/upstream/strict-responses.ts';

const user = { role: 'user', content: 'Go.' };
const called = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'search', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'a', output: 'found' };
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };
const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'exec', input: 'go();' };
const partial = { type: 'custom_tool_call_output', call_id: 'c', output: 'so far' };
const patch = { type: 'apply_patch_call', call_id: 'p', operation: {}, status: 'completed' };

/** A schema that can be strict. */
const STRICT = {
  type: 'object',
  properties: { at: { type: ['object', 'null'], properties: {}, additionalProperties: false } },
  required: ['at'],
  additionalProperties: false,
};
const LONG = 'x'.repeat(65);

const violations = (input: object[], more: object = {}, stored = new Map<string, object>()) =>
  responsesViolations({ model: 'gpt-5', input, ...more }, { stored });

describe('the strict upstream of the Responses API', () => {
  it.each<[what: string, input: object[], more?: object]>([
    ['a step with its reasoning', [user, reasoning, called, output], { store: false }],
    ['a result of parts', [user, called, { ...output, output: [{ type: 'input_text', text: 'found' }] }]],
    [
      'the tools of a client',
      [user, patch, { type: 'apply_patch_call_output', call_id: 'p', status: 'failed' }],
    ],
    ['what a custom tool reports while it runs', [user, custom, partial, { ...partial, name: 'exec' }]],
    [
      'tools of every kind',
      [user],
      {
        tools: [
          { type: 'function', name: 'search', parameters: STRICT, strict: true },
          { type: 'custom', name: 'shell', format: { type: 'text' } },
          { type: 'namespace', name: 'files', description: '', tools: [{ type: 'function', name: 'read' }] },
          { type: 'web_search' },
        ],
      },
    ],
  ])('takes %s', (_, input, more) => {
    expect(violations(input, more)).toEqual([]);
  });

  it.each<[violation: string, input: object[], more?: object]>([
    ['input[1]: no tool call found for function call output with call_id a', [user, output]],
    ['input[3]: no tool call found for function call output with call_id a', [user, called, output, output]],
    ['input[1]: no tool call found for function call output with call_id c', [user, partial]],
    ['input: no tool output found for function call a', [user, called]],
    ['input: no tool output found for function call p', [user, patch]],
    [
      'input[1]: item of type reasoning was provided without its required following item',
      [user, reasoning, user],
    ],
    [
      'input[1]: item not found; items are not persisted when store is set to false',
      [user, { ...reasoning, encrypted_content: undefined }, called, output],
      { store: false },
    ],
    [
      'input: duplicate item id rs_1',
      [user, reasoning, called, output, reasoning, { ...called, id: 'fc_2' }, output],
    ],
    ['input[1].parsed_arguments: unknown parameter', [user, { ...called, parsed_arguments: null }, output]],
    [
      'input[0].content[0].cached: unknown parameter',
      [{ role: 'user', content: [{ type: 'input_text', text: 'Go.', cached: 1 }] }],
    ],
    ['input[1].type: unknown type thought', [user, { type: 'thought' }]],
    ['input[2].output: neither a text nor parts', [user, called, { ...output, output: { text: 'found' } }]],
    ['memory_strategy: unknown parameter', [user], { memory_strategy: 'auto' }],
    [
      'tools[0].function: unknown parameter',
      [user],
      { tools: [{ type: 'function', name: 'a', function: {} }] },
    ],
    ['tools[0].name: missing', [user], { tools: [{ type: 'function', parameters: {} }] }],
    [
      'tools[0].name: longer than 64 characters',
      [user],
      { tools: [{ type: 'function', name: LONG, parameters: {} }] },
    ],
    [
      'tools[0].parameters.additionalProperties: must be false',
      [user],
      { tools: [{ type: 'function', name: 'a', parameters: { type: 'object' }, strict: true }] },
    ],
    [
      'tools[0].parameters.type: not an object',
      [user],
      { tools: [{ type: 'function', name: 'a', parameters: {}, strict: true }] },
    ],
    [
      'text.format.schema.required: lacks at',
      [user],
      {
        text: {
          format: { type: 'json_schema', name: 'a', schema: { ...STRICT, required: [] }, strict: true },
        },
      },
    ],
    [
      'text.format.schema.properties.at.items.additionalProperties: must be false',
      [user],
      {
        text: {
          format: {
            type: 'json_schema',
            name: 'a',
            schema: { ...STRICT, properties: { at: { type: 'array', items: { type: 'object' } } } },
            strict: true,
          },
        },
      },
    ],
    ['input[0].name: unknown parameter', [{ ...user, name: 'ada' }]],
  ])('refuses: %s', (violation, input, more) => {
    expect(violations(input, more)).toEqual([violation]);
  });

  it('takes no id of more than 64 characters', () => {
    const long = [user, { ...called, call_id: LONG }, { ...output, call_id: LONG }];
    expect(violations(long)).toEqual([1, 2].map((at) => `input[${at}].call_id: longer than 64 characters`));
  });

  it('takes a tool for strict that does not say so, where it is asked to', () => {
    const tools = [{ type: 'function', name: 'a', parameters: { type: 'object', properties: {} } }];
    const found = (more: object) =>
      responsesViolations(
        { model: 'gpt-5', input: [user], tools: tools.map((tool) => ({ ...tool, ...more })) },
        { strictByDefault: true },
      );
    expect(found({})).toEqual(['tools[0].parameters.additionalProperties: must be false']);
    expect(found({ strict: false })).toEqual([]);
    expect(violations([user], { tools })).toEqual([]);
  });

  it('verifies encrypted reasoning, where it knows its own', () => {
    const input = [user, reasoning, called, output];
    const found = (issued: string[]) =>
      responsesViolations({ model: 'gpt-5', input }, { issued: new Set(issued) });
    expect(found(['x'])).toEqual([]);
    expect(found(['y'])).toEqual(['input[1]: the encrypted content for item rs_1 could not be verified']);
  });

  it('knows what it has stored by its id', () => {
    const input = [user, { type: 'item_reference', id: 'fc_1' }, output];
    expect(violations(input, {}, new Map([['fc_1', called]]))).toEqual([]);
    expect(violations(input)).toEqual([
      'input[2]: no tool call found for function call output with call_id a',
    ]);
  });

  describe('that knows which reasoning led to an item', () => {
    const reasoned = new Map([
      ['fc_1', 'rs_1'],
      ['a', 'rs_1'],
    ]);
    const found = (input: object[]) => responsesViolations({ model: 'gpt-5', input }, { reasoned });
    const { id: _, ...unnamed } = called;
    const missing = 'item of type function_call was provided without its required reasoning item: rs_1';

    it('takes the item with it, and an old one without it and without an id', () => {
      expect(found([user, reasoning, called, output])).toEqual([]);
      expect(found([user, unnamed, output, user])).toEqual([]);
    });

    it.each([
      ['with its id', [user, called, output, user]],
      ['of the current turn', [user, unnamed, output]],
    ])('refuses a call %s and without it', (_, input) => {
      expect(found(input)).toEqual([`input[1]: ${missing}`]);
    });
  });
});
