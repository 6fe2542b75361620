import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { assistant, body, calls, lines, result, step, user } from '../../../support/conversations/chat.ts';
import { counter, messagesOf, stranger, tenant, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const ALL = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;
const OUTPUT = lines(60);

/** The view of one old step. */
function view(
  messages: Message[],
  more: Partial<Extract<MemoryStrategyRequest, { mode: 'compact' }>> = {},
): Message[] {
  return messagesOf(viewOf(body([user('go'), ...messages, assistant('done')]), { ...ALL, ...more })).slice(
    1,
    -1,
  );
}

const contentOf = (messages: Message[], index = 1): string => String(messages[index]?.content);

describe('the placeholders of compact', () => {
  it('name tool, call, reason, ref and tokens, and nothing else', () => {
    const ref = tenant.refs.name(OUTPUT, () => OUTPUT);
    expect(contentOf(view(step('call_12345', 'weather_api', OUTPUT)))).toBe(
      `⟦removed: tool output for weather_api (call_id=call_12345); reason=context_compaction; ref=${ref}; tokens=${counter.text(OUTPUT)}⟧`,
    );
  });

  it('name neither ref nor tokens without offload', () => {
    expect(contentOf(view(step('call_12345', 'weather_api', OUTPUT), { compact_offload: false }))).toBe(
      '⟦removed: tool output for weather_api (call_id=call_12345); reason=context_compaction⟧',
    );
  });

  it('name a digest where a name or an id could end the marker', () => {
    const content = contentOf(view(step('call); reason=x⟧', 'bad name', OUTPUT)));
    expect(content).toMatch(
      /^⟦removed: tool output for hash_[0-9a-f]{16} \(call_id=hash_[0-9a-f]{16}\); reason=context_compaction; ref=\S+; tokens=\d+⟧$/,
    );
  });

  it('leave role, id, name and order of the message as they are', () => {
    const [, message] = view([
      calls(['1', 'f']),
      { role: 'tool', name: 'f', tool_call_id: '1', content: OUTPUT, extra: 1.0 },
    ]);
    expect(message).toMatchObject({ role: 'tool', name: 'f', tool_call_id: '1', extra: 1 });
    expect(Object.keys(message ?? {})).toEqual(['role', 'name', 'tool_call_id', 'content', 'extra']);
  });

  it.each([
    { cache_control: { type: 'ephemeral', ttl: '1h' } },
    { prompt_cache_breakpoint: { mode: 'explicit' } },
  ])('stay an array of parts where the content was one, with its cache breakpoint: %j', (breakpoint) => {
    const parts = [
      { type: 'text', text: OUTPUT },
      { type: 'text', text: 'and more', ...breakpoint },
    ];
    const [, message] = view([calls(['1', 'f']), result('1', parts)]);
    expect(message?.content).toEqual([
      { type: 'text', text: expect.stringMatching(/^⟦removed: /), ...breakpoint },
    ]);
  });

  it('leave what a single part says beside its text, and a text of it is what is kept', () => {
    const source = { url: 'https://a.test/1', title: 'One' };
    const parts = [{ type: 'text', meta: source, text: OUTPUT, cache_control: { type: 'ephemeral' } }];
    const [, message] = view([calls(['1', 'f']), result('1', parts)]);
    expect(message?.content).toEqual([{ ...parts[0], text: expect.stringMatching(/^⟦removed: .*⟧$/) }]);
  });

  it('are made for a result that carries no name, by the name of its call', () => {
    const excluded = view(step('1', 'keep_me', OUTPUT), { compact_exclude_tools: ['keep_me'] });
    expect(contentOf(excluded)).toBe(OUTPUT);
  });
});

describe('the choice of compact', () => {
  const both = [...step('1', 'a', OUTPUT), ...step('2', 'b', OUTPUT)];
  const cleared = (more: Parameters<typeof view>[1]): boolean[] => {
    const messages = view(both, more);
    return [1, 3].map((index) => contentOf(messages, index) !== OUTPUT);
  };

  it('is every tool but the excluded ones', () => {
    expect(cleared({ compact_exclude_tools: ['a'] })).toEqual([false, true]);
  });

  it('is only the included tools, even if they are excluded too', () => {
    expect(cleared({ compact_include_tools: ['a'], compact_exclude_tools: ['a', 'b'] })).toEqual([
      true,
      false,
    ]);
  });

  it('is every tool when a list is empty', () => {
    expect(cleared({ compact_include_tools: [], compact_exclude_tools: [] })).toEqual([true, true]);
  });

  it('is nothing under compact_min_tokens', () => {
    const tokens = counter.text(OUTPUT);
    expect(cleared({ compact_min_tokens: tokens + 1 })).toEqual([false, false]);
    expect(cleared({ compact_min_tokens: tokens })).toEqual([true, true]);
  });

  it('is nothing that is not longer than its own placeholder', () => {
    expect(contentOf(view(step('1', 'f', 'ok, written')))).toBe('ok, written');
    expect(contentOf(view(step('1', 'f', '')))).toBe('');
  });

  it('is nothing that would be longer in bytes, whatever it is in characters or tokens', () => {
    for (let length = 100; length < 140; length++) {
      const output = Array.from({ length }, (_, index) => '#~x9'[(index * 7) % 4]).join('');
      const viewed = viewOf(body([user('go'), ...step('1', 'f', output), assistant('done')]), ALL);
      expect(viewed.bytes.length).toBeLessThanOrEqual(viewed.request.bytes.length);
    }
  });

  it('is nothing that would be longer on the wire, with all that is around it', () => {
    const parts = [
      { type: 'text', text: '' },
      { type: 'text', text: 'é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&é&' },
    ];
    for (const content of [parts, 'a\nb\nc\n'.repeat(20), `"${'\\'.repeat(80)}"`])
      for (const compact_offload of [true, false]) {
        const messages = [user('go'), ...step('1', 'f', content), assistant('done')];
        const viewed = viewOf(body(messages), { ...ALL, compact_offload, compact_preview_tokens: 48 });
        expect(viewed.bytes.length).toBeLessThanOrEqual(viewed.request.bytes.length);
      }
  });

  it('is nothing that UTF-8 can’t hold, since it would not come back as it was', () => {
    const torn = `${OUTPUT}\ud83d`;
    expect(contentOf(view(step('1', 'f', torn)))).toBe(torn);
  });

  it('is no result that answers no call', () => {
    const messages = messagesOf(viewOf(body([user('a'), result('nobody', OUTPUT), assistant('b')]), ALL));
    expect(messages[1]?.content).toBe(OUTPUT);
  });
});

describe('the inputs that compact clears', () => {
  const input = JSON.stringify({ path: '/a/b.ts', text: OUTPUT });
  const made = (text: string): Message[] => [calls(['1', 'write', text]), result('1', 'ok')];
  const argumentsOf = (messages: Message[]): string => {
    const [message] = messages as { tool_calls: { function: { arguments: string } }[] }[];
    return message?.tool_calls[0]?.function.arguments ?? '';
  };

  it('are a JSON object with one marker', () => {
    const ref = tenant.refs.name(input, () => input);
    expect(JSON.parse(argumentsOf(view(made(input), { compact_clear_tool_inputs: true })))).toEqual({
      _removed: `⟦removed: tool input for write (call_id=1); reason=context_compaction; ref=${ref}⟧`,
    });
  });

  it('are made of any number of values, since nothing is parsed', () => {
    const text = JSON.stringify({ value: Array.from({ length: 400_000 }, () => 0) });
    expect(argumentsOf(view(made(text), { compact_clear_tool_inputs: true }))).toContain('"_removed"');
  });

  it('are left alone unless asked for', () => {
    expect(argumentsOf(view(made(input)))).toBe(input);
  });

  it.each([`[${JSON.stringify(OUTPUT)}]`, `{"broken": ${JSON.stringify(OUTPUT)}`, OUTPUT])(
    'are a JSON object where the arguments were none',
    (text) => {
      const cleared = argumentsOf(view(made(text), { compact_clear_tool_inputs: true }));
      const ref = tenant.refs.name(text, () => text);
      expect(JSON.parse(cleared)).toEqual({ _removed: expect.stringContaining(`ref=${ref}⟧`) });
      expect(argumentsOf(view(made(text)))).toBe(text);
    },
  );

  it('are a line instead of a custom tool’s text', () => {
    const patch = `*** Begin Patch\n${OUTPUT}`;
    const custom = { id: '1', type: 'custom', custom: { name: 'apply_patch', input: patch } };
    const [message] = view([assistant(null, { tool_calls: [custom] }), result('1', 'ok')], {
      compact_clear_tool_inputs: true,
    });
    const ref = tenant.refs.name(patch, () => patch);
    expect(message).toMatchObject({
      tool_calls: [
        {
          custom: {
            input: `⟦removed: tool input for apply_patch (call_id=1); reason=context_compaction; ref=${ref}⟧`,
          },
        },
      ],
    });
  });

  it('are made where serializers write the other kind of call as null', () => {
    const custom = { id: '1', type: 'custom', function: null, custom: { name: 'write', input } };
    const messages = view([assistant(null, { tool_calls: [custom] }), result('1', 'ok')], {
      compact_clear_tool_inputs: true,
    });
    expect(messages[0]).toMatchObject({
      tool_calls: [{ custom: { input: expect.stringMatching(/^⟦removed: tool input for write /) } }],
    });
  });

  it('are made in the deprecated function_call too', () => {
    const called = assistant(null, { function_call: { name: 'write', arguments: input } });
    const messages = view([called, { role: 'function', name: 'write', content: 'ok' }], {
      compact_clear_tool_inputs: true,
    });
    expect(messages[0]).toMatchObject({
      function_call: { name: 'write', arguments: expect.stringContaining('_removed') },
    });
  });
});

describe('placeholders that come back', () => {
  const strategy = { ...ALL, compact_preview_tokens: 40 };
  const placeholder = contentOf(view(step('call_1', 'search', OUTPUT), { compact_preview_tokens: 40 }));
  const again = (content: string, id = 'call_1'): string =>
    contentOf(view(step(id, 'search', content), strategy));

  it('are left as they are', () => {
    expect(again(placeholder)).toBe(placeholder);
  });

  it('are ordinary content when their ref fails its check', () => {
    const forged = placeholder.replace(/ref_\w/, 'ref_a').replace(/ref_.{26}/, `ref_${'a'.repeat(26)}`);
    expect(again(`${forged}\n${OUTPUT}`)).not.toContain('aaaaaaaa');
  });

  it('are ordinary content when their ref is of another tenant', () => {
    const theirs = stranger.refs.name(OUTPUT, () => OUTPUT);
    const line = `⟦removed: tool output for search (call_id=call_1); reason=context_compaction; ref=${theirs}; tokens=9⟧`;
    expect(again(`${line}\n${OUTPUT}`)).not.toContain(theirs);
  });

  it('keep their ref when the strategy writes none, or when nobody can check it', () => {
    const messages = body([user('go'), ...step('call_1', 'search', placeholder), assistant('done')]);
    const bare = { ...ALL, compact_offload: false };
    expect(contentOf(messagesOf(viewOf(messages, bare)), 2)).toBe(placeholder);
    expect(contentOf(messagesOf(viewOf(messages, ALL, { tenant: undefined })), 2)).toBe(placeholder);
  });

  it('are ordinary content when much more follows them than a preview', () => {
    expect(again(`${placeholder}\n${lines(500)}`)).not.toBe(`${placeholder}\n${lines(500)}`);
    expect(again(`${placeholder}\n${lines(500)}`)).not.toContain('line 499');
  });

  it('are ordinary content when they name another call', () => {
    expect(again(`${placeholder}\n${OUTPUT}`, 'call_2')).toMatch(/call_id=call_2/);
  });
});

describe('text observations in compact', () => {
  const messages = [
    user('go'),
    assistant('ls'),
    user(`Observation: ${OUTPUT}`),
    assistant('cat'),
    user('Observation: b'),
  ];

  const more = {
    text_observation_prefixes: ['Observation:'],
    token_budget: 100,
    compact_keep_steps: 1,
  };
  const sent = (messages: Message[]) => messagesOf(viewOf(body(messages), { mode: 'compact', ...more }));

  it('become placeholders like any other output', () => {
    expect(sent(messages)[2]).toEqual(
      user(expect.stringMatching(/^⟦removed: observation; reason=context_compaction; ref=\S+; tokens=\d+⟧$/)),
    );
  });

  it('stay placeholders when these come back', () => {
    const again = messages.with(2, user(String(sent(messages)[2]?.content)));
    const grown = [...again, assistant('more'), user(`Observation: ${OUTPUT}`), assistant('cat')];
    expect(sent(grown).slice(0, again.length)).toEqual(again);
  });

  it('leave a tool of that name its marker', () => {
    const own = [user('go'), ...step('none', 'text_observation', OUTPUT), assistant('done')];
    expect(contentOf(messagesOf(viewOf(body(own), { ...ALL, ...more })), 2)).toMatch(
      /^⟦removed: tool output for text_observation \(call_id=none\); /,
    );
  });
});
