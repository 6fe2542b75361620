import { describe, expect, it } from 'vitest';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ upstream: { strict: false } });

const model = 'gpt-4.1-mini';
const messages = [{ role: 'user', content: 'Hello' }];

/** Of a mode that reads bodies. */
const COMPACT = { 'x-memory-strategy': 'compact' };

/** Expects an error in OpenAI's shape. Returns its message. */
async function refusalOf(response: Response, status: number, code: string, param: string | null) {
  const answer = (await response.json()) as { error: { message: string } };
  expect(answer).toEqual({
    error: { message: expect.any(String), type: 'invalid_request_error', param, code },
  });
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(deployment.upstream.requests).toEqual([]);
  return answer.error.message;
}

overProtocols('a body that cannot be read', deployment, (protocol) => {
  it.each([
    ['is cut off', '{"model":"gpt-4.1-mini","messages":[{"role":"user"', null],
    ['has something behind it', `{"messages":[{"role":"user","content":"x"}]} x`, null],
    ['has a trailing comma', '{"messages":[{"role":"user","content":"x"},]}', null],
    ['has a broken escape', '{"messages":[{"role":"user","content":"\\x"}]}', null],
    ['has a number that is none', '{"n":01,"messages":[{"role":"user","content":"x"}]}', null],
    ['is empty', '', null],
    ['is white space', ' \n', null],
    ['is an array', '[]', null],
    ['is null', 'null', null],
    ['is a text', '"messages"', null],
    [
      'has two arrays of messages',
      '{"messages":[],"model":"m","messages":[{"role":"user","content":"x"}]}',
      'messages',
    ],
    [
      'has a key twice, once with escapes',
      '{"model":"a","m\\u006fdel":"b","messages":[{"role":"user"}]}',
      'model',
    ],
  ])('is refused when it %s', async (_, body, param) => {
    await refusalOf(
      await deployment.chat(body, COMPACT),
      400,
      'invalid_json',
      param === 'messages' ? protocol.field : param,
    );
  });

  it('is refused when it is not UTF-8', async () => {
    const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"\xff\xfe"}]}', 'latin1');

    const response = await deployment.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: COMPACT,
      body,
    });

    await refusalOf(response, 400, 'invalid_json', null);
  });

  it('is refused before it costs a stack: a million brackets', async () => {
    const response = await deployment.chat(`{"messages":${'['.repeat(1_000_000)}`, COMPACT);

    await refusalOf(response, 400, 'invalid_json', null);
  });
});

overProtocols('a body that is nested without end', deployment, () => {
  const nested = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
  const text = JSON.stringify(messages);

  it.each([
    [
      'tools in tools',
      nested('[{"type":"namespace","name":"n","tools":', '}]', 10_000).replace(':}', ':[]}'),
    ],
    ['lists as tools', nested('[', ']', 20_000)],
    [
      'a schema',
      `[{"type":"function","function":{"name":"f","parameters":${nested('{"a":[', ']}', 10_000)}}}]`,
    ],
  ])('F16: is refused for its depth, whatever nests: %s', async (_, tools) => {
    for (const strategy of ['none', 'auto']) {
      const response = await deployment.chat(
        `{"model":"m","messages":${text},"tools":${tools},"memory_strategy":"${strategy}"}`,
      );

      expect(await refusalOf(response, 400, 'invalid_json', null)).toContain('500 levels');
    }
  });

  it('F16: is sent when its depth is one that a tool may have', async () => {
    const schema = nested('{"a":', '}', 400).replace(':}', ':1}');
    const tools = `[{"type":"function","function":{"name":"f","parameters":${schema}}}]`;

    const response = await deployment.chat(
      `{"model":"m","messages":${text},"tools":${tools},"memory_strategy":"auto"}`,
    );

    expect(response.status).toBe(200);
  });
});

overProtocols('a body of more values than are decoded', deployment, () => {
  const many = (value: string, count: number) => `[${`${value},`.repeat(count - 1)}${value}]`;
  const bodyWith = (content: string, tools: string) =>
    `{"model":"m","messages":[{"role":"user","content":${content}}],"tools":${tools},"memory_strategy":"auto"}`;

  it.each([
    ['parts of a content', bodyWith(many('{}', 300_000), '[]')],
    ['parts of text', bodyWith(many('{"type":"text","text":"a"}', 100_000), '[]')],
    ['members of a schema', bodyWith('"a"', `[${many('{"a":[1,2]}', 75_000)}]`)],
  ])('F2: is refused for it: %s', async (_, body) => {
    const response = await deployment.chat(body);

    expect(await refusalOf(response, 400, 'invalid_json', null)).toContain('300000 values');
  });

  it('F2: is sent when it has fewer', async () => {
    const response = await deployment.chat(bodyWith(many('{"type":"text","text":"a"}', 99_990), '[]'));

    expect(response.status).toBe(200);
  });

  it('F2: is sent as it is when its list is one that is not looked into', async () => {
    const messages = many('{"role":"user","content":"a"}', 150_000);

    const response = await deployment.chat(`{"model":"m","messages":${messages},"memory_strategy":"auto"}`);

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-warning')).toBe('too_many_messages');
  });
});

overProtocols('messages that are none', deployment, (protocol) => {
  it.each([
    ['an object', { messages: { role: 'user', content: 'Hello' } }],
    ['a number', { messages: 7 }],
  ])('are refused when they are %s', async (_, fields) => {
    const response = await deployment.chat({ model, memory_strategy: 'compact', ...fields });

    await refusalOf(response, 400, 'invalid_messages', protocol.field);
  });
});

/** Chat only: an input may be a text, and absent if there is a stored prompt. */
describe('messages that chat does not take', () => {
  it.each([
    ['absent', {}],
    ['empty', { messages: [] }],
    ['null', { messages: null }],
    ['a text', { messages: 'Hello' }],
  ])('are refused when they are %s', async (_, fields) => {
    const response = await deployment.chat({ model, memory_strategy: 'compact', ...fields });

    await refusalOf(response, 400, 'invalid_messages', 'messages');
  });
});

overProtocols('a strategy that cannot hold', deployment, () => {
  const compact = { mode: 'compact' };
  const trim = { mode: 'trim' };

  it.each<[string, unknown, string]>([
    ['an unknown mode', 'compaction', 'mode'],
    ['an unknown mode in an object', { mode: 'compress' }, 'mode'],
    ['no mode', { token_budget: 1 }, 'mode'],
    ['a mode that is no text', { mode: 3 }, 'mode'],
    ['a negative budget', { ...compact, token_budget: -1 }, 'token_budget'],
    ['a budget with a fraction', { ...compact, token_budget: 0.5 }, 'token_budget'],
    ['a budget that is a text', { ...compact, token_budget: '1000' }, 'token_budget'],
    ['a negative count of turns', { ...compact, compact_keep: -2 }, 'compact_keep'],
    ['a window of nothing', { ...compact, context_window_tokens: 0 }, 'context_window_tokens'],
    ['a share over 1', { ...compact, token_remaining_pct: 20 }, 'token_remaining_pct'],
    ['a share under 0', { ...compact, low_watermark_pct: -0.1 }, 'low_watermark_pct'],
    [
      'a soft budget over the hard one',
      { ...compact, token_budget: 10, token_soft_budget: 11 },
      'token_soft_budget',
    ],
    [
      'a soft share over the hard one',
      { ...compact, token_remaining_pct: 0.5, token_soft_remaining_pct: 0.1 },
      'token_soft_remaining_pct',
    ],
    ['more turns to keep than to have', { ...trim, keep_last_n_turns: 6, max_turns: 5 }, 'keep_last_n_turns'],
    ['a field of another mode', { ...trim, compact_keep: 1 }, 'compact_keep'],
    ['a field in mode none', { mode: 'none', token_budget: 1 }, 'token_budget'],
    ['a frontier that does neither', { ...compact, frontier: 'creep' }, 'frontier'],
    ['a list that is none', { ...compact, compact_exclude_tools: 'search' }, 'compact_exclude_tools'],
  ])('is refused for %s, with the field named', async (_, memory_strategy, field) => {
    const response = await deployment.chat({ model, messages, memory_strategy });

    const param = `memory_strategy.${field}`;
    const message = await refusalOf(response, 400, 'invalid_memory_strategy', param);
    expect(message).toContain(field);
  });

  it.each([
    ['token_bugdet', 'token_budget'],
    ['compact_keep_step', 'compact_keep_steps'],
    ['compactKeep', 'compact_keep'],
  ])('learns the nearest field to %s', async (unknown, nearest) => {
    const memory_strategy = { ...compact, [unknown]: 1 };

    const response = await deployment.chat({ model, messages, memory_strategy });

    const param = `memory_strategy.${unknown}`;
    expect(await refusalOf(response, 400, 'invalid_memory_strategy', param)).toContain(`'${nearest}'`);
  });

  it.each([
    ['a number', 7],
    ['an array', [{ mode: 'compact' }]],
    ['true', true],
  ])('is refused when it is %s', async (_, memory_strategy) => {
    const response = await deployment.chat({ model, messages, memory_strategy });

    await refusalOf(response, 400, 'invalid_memory_strategy', 'memory_strategy');
  });

  it('is refused when the header is not JSON', async () => {
    const response = await deployment.chat({ model, messages }, { 'x-memory-strategy': '{mode: compact}' });

    await refusalOf(response, 400, 'invalid_memory_strategy', 'x-memory-strategy');
  });

  it('is refused for a field in the header as for one in the body', async () => {
    const header = JSON.stringify({ ...compact, token_bugdet: 1 });

    const response = await deployment.chat({ model, messages }, { 'x-memory-strategy': header });

    const param = 'memory_strategy.token_bugdet';
    expect(await refusalOf(response, 400, 'invalid_memory_strategy', param)).toContain("'token_budget'");
  });

  it('is refused when the report is neither wanted nor not', async () => {
    const response = await deployment.chat({ model, messages, memory_report: 'yes' });

    await refusalOf(response, 400, 'invalid_memory_strategy', 'memory_report');
  });
});

overProtocols('a body over the limit', deployment, (protocol) => {
  const large = [...messages, { role: 'user', content: 'x'.repeat(16 * 1024 * 1024) }];

  it('is refused when it would have to be edited', async () => {
    const response = await deployment.chat({ model, messages: large, memory_strategy: 'compact' });

    await refusalOf(response, 413, 'body_too_large', protocol.field);
  });

  it('is forwarded in mode none', async () => {
    const body = JSON.stringify({ model, messages: large });

    const response = await deployment.chat(body);

    expect(response.status).toBe(200);
    expect(deployment.lastChat().rawBody.equals(Buffer.from(protocol.text(body)))).toBe(true);
  });

  it('is forwarded without edits, and with a warning, when it has too many messages', async () => {
    const many = Array.from({ length: 20_001 }, () => messages[0]);

    const response = await deployment.chat({
      model,
      messages: many,
      memory_strategy: { mode: 'trim', max_turns: 1, keep_last_n_turns: 1 },
    });

    expect(response.headers.get('x-memory-warning')).toBe('too_many_messages');
    expect(response.headers.get('x-memory-applied')).toBe('none');
    expect(deployment.lastChat().body.messages).toHaveLength(20_001);
  });
});

overProtocols('a history that was broken when it came', deployment, (protocol) => {
  const whole = conversationOf([linesAbout('breaks, 1'), linesAbout('breaks, 2'), linesAbout('breaks, 3')]);
  const without = (index: number) => whole.filter((_, at) => at !== index);

  it.each([
    ['a result whose call is missing', without(2)],
    ['a call whose result is missing', without(3)],
    ['a last call without its result', whole.slice(0, 7)],
    [
      'a second result for one call',
      whole.toSpliced(4, 0, { role: 'tool', tool_call_id: 'call_1', content: 'x' }),
    ],
    ['a role that does not exist', whole.toSpliced(4, 0, { role: 'narrator', content: 'x' } as never)],
  ])('is forwarded as broken as it was: %s', async (_, broken) => {
    const response = await deployment.chat({
      model,
      messages: broken,
      memory_strategy: { ...COMPACT_OLD_TURNS, compact_trigger_turns: 0, compact_keep: 0 },
    });

    const { body } = deployment.lastChat();
    const sent = protocol.read(broken);
    expect(response.headers.get('x-memory-applied')).toBe('compact');
    expect(violations({ model, messages: sent })).not.toEqual([]);
    expect(violations(body)).toEqual(violations({ model, messages: sent }));
    expect(body.messages).toHaveLength(sent.length);
  });
});
