import { describe, expect, it } from 'vitest';
import { compactionBody } from '../../../../src/protocol/responses/compaction.ts';

type Json = Record<string, unknown>;

const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const answer = { sealed: 'precis1_abc', usage, report: undefined, id: '1', created: 1 };
const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'precis1_abc' };

const outputOf = (...users: string[]): Json[] => (compactionBody(users, answer) as { output: Json[] }).output;

describe('the usage of a compaction', () => {
  it('has every count that the API requires', () => {
    const counted = { ...usage, prompt_tokens: 90, cached_tokens: 20, cache_write_tokens: 30 };
    expect(compactionBody([], { ...answer, usage: counted })).toMatchObject({
      usage: { input_tokens: 90, input_tokens_details: { cached_tokens: 20, cache_write_tokens: 30 } },
    });
    expect(compactionBody([], answer)).toMatchObject({
      usage: { input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } },
    });
  });
});

describe('what a compaction puts out', () => {
  it('is the user messages as parts, and the item', () => {
    expect(outputOf('{"role":"user","content":"Hi."}')).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
      item,
    ]);
  });

  it('is unchanged what developers have said', () => {
    const said = '{"role":"developer","content":"Be brief."}';
    const tools = '{"type":"additional_tools","role":"developer","tools":[]}';
    const update = '{"type":"configuration_update","reasoning":{"effort":"high"}}';
    expect(outputOf(`${said}, {"type":"something_new"}`, tools, update)).toEqual([
      JSON.parse(said),
      { type: 'something_new' },
      JSON.parse(tools),
      JSON.parse(update),
      item,
    ]);
  });

  it('is a user message without the items of unknown kinds that go with it', () => {
    const tools = '{"type":"mcp_list_tools","id":"mcpl_1","server_label":"s","tools":[]}';
    expect(outputOf(`{"role":"user","content":"Hi."}, ${tools}`)).toEqual(
      outputOf('{"role":"user","content":"Hi."}'),
    );
  });
});
