import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import { listDefinitionOf } from '../../../src/retrieval/list-refs.ts';
import { definitionOf } from '../../../src/retrieval/tool.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import type { Answer, ToolCall } from '../../../tools/upstream/completion.ts';
import { responsesTools } from '../../../tools/upstream/items.ts';
import {
  AgentCaller,
  brokenPrefixes,
  lostContents,
  markersIn,
  refsIn,
  type Sent,
} from '../../support/clients/agent-caller.ts';
import { agentRun, lengthsOf, type Message, rows, tools } from '../../support/clients/agent-run.ts';
import { assistant, result, system, user } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols, PROTOCOLS, type Protocol } from '../../support/deployment/protocol.ts';

const deployment = deploy({ summarizer: true, upstream: { strict: { jsonArguments: true } } });
/** Notices soon that a caller has left. */
const attentive = deploy({ limits: { keepaliveMs: 200 } });

const TOOL = definitionOf('retrieve_ref');
const LIST = listDefinitionOf('list_refs');
const STRATEGY = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0, compact_retrieval: 'tool' };

const APPLES = rows('apples', 40);
const PEARS = rows('pears', 40);

const messages: Message[] = [
  system('You weigh things.'),
  user('What do they weigh?'),
  ...weighing('call_a', 'apples', APPLES),
  ...weighing('call_b', 'pears', PEARS),
  assistant('A lot.'),
  user('And the seventh one?'),
];

function weighing(id: string, name: string, output: string): Message[] {
  const call = { id, type: 'function', function: { name: 'search', arguments: `{"of":"${name}"}` } };
  return [{ role: 'assistant', content: null, tool_calls: [call] }, result(id, output)];
}

let calls = 0;
/** A call of the model, with a new id. */
const call = (name: string, args: object | string): ToolCall => ({
  id: `call_model_${++calls}`,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});
const retrieve = (args: object | string): ToolCall => call('retrieve_ref', args);

/** Answers that depend on the refs of apples and of pears in the view. */
function says(answer: (apples: string, pears: string) => Answer): Behaviour {
  return (request, response, recorded) => {
    const [apples = '', pears = ''] = refsIn(deployment.protocol.seen(recorded).body.messages);
    void behave({ type: 'answer', ...answer(apples, pears) }, request, response, recorded);
  };
}

/** An answer as the caller sees it, in any form. */
interface Seen {
  readonly message: OpenAI.ChatCompletionMessage;
  readonly finish: string | null;
  readonly usage: OpenAI.CompletionUsage | undefined;
  readonly memory: Report | undefined;
  readonly requestId: string;
}

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

function paramsOf(more: object = {}): Params {
  return {
    model: 'gpt-4.1',
    tools,
    memory_report: true,
    memory_strategy: STRATEGY,
    messages,
    ...more,
  } as unknown as Params;
}

async function askWhole(more: object = {}): Promise<Seen> {
  const completion: OpenAI.ChatCompletion & WithMemory = await deployment
    .client()
    .chat.completions.create(paramsOf(more));
  const [choice] = completion.choices;
  if (!choice) throw new Error('an answer without a choice');
  const { message, finish_reason: finish } = choice;
  return { message, finish, usage: completion.usage, memory: completion.memory, requestId: completion.id };
}

/** With the client's accumulator, which refuses any stream that is not one answer. */
async function askStream(more: object = {}): Promise<Seen> {
  const stream = deployment
    .client()
    .chat.completions.stream({ ...paramsOf(more), stream: true, stream_options: { include_usage: true } });
  const ids = new Set<string>();
  const roles: unknown[] = [];
  let memory: Report | undefined;
  stream.on('chunk', (chunk: OpenAI.ChatCompletionChunk & WithMemory) => {
    if (chunk.id) ids.add(chunk.id);
    memory ??= chunk.memory;
    const role = chunk.choices[0]?.delta.role;
    if (role !== undefined) roles.push(role);
  });
  const completion = await stream.finalChatCompletion();
  expect([ids.size, roles]).toEqual([1, ['assistant']]);
  const [choice] = completion.choices;
  if (!choice) throw new Error('a stream without a choice');
  const { message, finish_reason: finish } = choice;
  return { message, finish, usage: completion.usage, memory, requestId: completion.id };
}

type Json = Record<string, unknown>;

/** The caller's tools followed by Precis's, as mode `auto` sends them upstream. */
const toolsSent = ({ name }: Protocol): object[] =>
  name === 'chat'
    ? [...tools, TOOL, LIST]
    : [
        ...(responsesTools(tools) as object[]),
        ...[TOOL, LIST].map((tool) => ({ type: 'function', ...tool.function, strict: false })),
      ];

const sentMessages = (): Message[][] => deployment.chats().map(({ body }) => body.messages);
/** The results in the model's last request. */
const results = (): unknown[] => {
  const last = sentMessages().at(-1) ?? [];
  const first = sentMessages()[0]?.length ?? 0;
  return last.slice(first).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));
};

/** Every form of an answer, in every protocol. */
const FORMS = PROTOCOLS.flatMap((protocol) => [
  { form: 'a whole answer', over: protocol.name, ask: askWhole, protocol },
  { form: 'a stream', over: protocol.name, ask: askStream, protocol },
]);

inTurn(
  FORMS,
  ({ form, over }) => `in ${form}, over ${over}, what the model fetches`,
  ({ ask, protocol }) => {
    deployment.over(protocol);
    it('is given to it, and the caller sees one answer', async () => {
      deployment.upstream.next(
        says((ref) => ({ content: 'Let me look. ', toolCalls: [retrieve({ ref })] })),
        says(() => ({ content: 'It weighs 514 g.' })),
      );

      const { message, finish, memory } = await ask();

      expect(message.content).toBe('Let me look. It weighs 514 g.');
      expect(message.tool_calls ?? []).toEqual([]);
      expect(finish).toBe('stop');
      expect(results()).toEqual([APPLES]);
      const [first, second, ...more] = sentMessages();
      expect(more).toEqual([]);
      expect(second?.slice(0, first?.length)).toEqual(first);
      const said = second?.[first?.length ?? 0];
      expect([said?.role, JSON.stringify(said?.content)]).toEqual([
        'assistant',
        expect.stringContaining('Let me look. '),
      ]);
      expect(memory?.retrieval).toMatchObject({ rounds: 1, refs: [refsIn(first ?? [])[0]] });
      expect(memory?.misses).toEqual([
        expect.objectContaining({ how: 'fetched', ref: refsIn(first ?? [])[0] }),
      ]);
    });

    // Some models add the namespace that they were trained with, or white space.
    it.each(['functions.retrieve_ref', ' retrieve_ref', 'function.retrieve_ref\n'])(
      'is given to it where it calls the tool %j',
      async (name) => {
        deployment.upstream.next(
          says((ref) => ({ toolCalls: [call(name, { ref })] })),
          says(() => ({ content: 'It weighs 514 g.' })),
        );

        const { message, finish } = await ask();

        expect([message.content, message.tool_calls ?? [], finish]).toEqual(['It weighs 514 g.', [], 'stop']);
        expect(results()).toEqual([APPLES]);
        expect(JSON.stringify(deployment.chats().at(-1)?.body)).not.toContain(JSON.stringify(name));
      },
    );

    it('leaves the bytes that were sent before as they are, so that the cache holds', async () => {
      deployment.upstream.next(says((ref) => ({ toolCalls: [retrieve({ ref })] })));

      await ask();

      const [first, second] = deployment.chats().map(({ rawBody }) => rawBody.toString());
      const opening = first?.slice(0, first.indexOf('And the seventh one?') + 22) ?? '';
      expect(opening).not.toBe('');
      expect(second?.startsWith(opening)).toBe(true);
    });

    it('may be several contents at once', async () => {
      deployment.upstream.next(
        says((apples, pears) => ({ toolCalls: [retrieve({ ref: apples }), retrieve({ ref: pears })] })),
      );

      const { message } = await ask();

      expect(results()).toEqual([APPLES, PEARS]);
      expect(sentMessages()).toHaveLength(2);
      expect(message.content).toBe('This is what the upstream has to say.');
    });

    it('may take several rounds', async () => {
      deployment.upstream.next(
        says((apples) => ({ content: 'One. ', toolCalls: [retrieve({ ref: apples })] })),
        says((_, pears) => ({ content: 'Two. ', toolCalls: [retrieve({ ref: pears, lines: '2-3' })] })),
        says(() => ({ content: 'Three.' })),
      );

      const { message, memory } = await ask();

      expect(message.content).toBe('One. Two. Three.');
      expect(results()).toEqual([APPLES, PEARS.split('\n').slice(1, 3).join('\n')]);
      expect(memory?.retrieval?.rounds).toBe(2);
    });

    it('counts as the last prompt and all completions', async () => {
      deployment.upstream.next(says((ref) => ({ content: 'Hm.', toolCalls: [retrieve({ ref })] })));

      const { usage, memory } = await ask();

      const lengths = deployment.chats().map(({ rawBody }) => rawBody.length);
      expect(lengths).toHaveLength(2);
      const total = memory?.retrieval?.usage;
      expect(usage?.completion_tokens).toBe(total?.completion_tokens);
      expect(usage?.prompt_tokens).toBeGreaterThan((total?.prompt_tokens ?? 0) / 2);
      expect(usage?.prompt_tokens).toBeLessThan(total?.prompt_tokens ?? 0);
      expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    });

    it('comes before calls of the caller’s tools: the model plans again', async () => {
      deployment.upstream.next(
        says((ref) => ({ toolCalls: [retrieve({ ref }), call('search', { of: 'figs' })] })),
        says(() => ({ toolCalls: [call('search', { of: 'plums' }), call('status', {})] })),
      );

      const { message, finish } = await ask();

      expect(finish).toBe('tool_calls');
      expect(message.tool_calls?.map((one) => one.type === 'function' && one.function)).toMatchObject([
        { name: 'search', arguments: '{"of":"plums"}' },
        { name: 'status', arguments: '{}' },
      ]);
      expect(results()).toEqual([APPLES]);
    });

    it('is dropped after a call of the caller’s, which has begun to flow', async () => {
      const search = call('search', { of: 'figs' });
      deployment.upstream.next(
        says((ref) => ({ content: 'Both.', toolCalls: [search, retrieve({ ref }), call('status', {})] })),
      );

      const { message, finish } = await ask();

      expect(sentMessages()).toHaveLength(1);
      expect(finish).toBe('tool_calls');
      expect(message.content).toBe('Both.');
      expect(message.tool_calls?.map((one) => one.type === 'function' && one.function.name)).toEqual([
        'search',
        'status',
      ]);
      expect(message.tool_calls?.[0]?.id).toBe(search.id);
    });

    it('is asked for in vain when it is no ref of this view, and the model goes on', async () => {
      const foreign = `ref_${'a'.repeat(26)}`;
      deployment.upstream.next(
        says((ref) => ({
          toolCalls: [
            retrieve({ ref: foreign }),
            retrieve({ ref: 'the first one' }),
            retrieve('{"ref": '),
            retrieve({}),
            retrieve({ ref, lines: 'all' }),
            retrieve({ ref, grep: 'not there' }),
          ],
        })),
      );

      const { message } = await ask();

      expect(message.content).toBe('This is what the upstream has to say.');
      expect(results()).toEqual([
        expect.stringContaining('There is nothing under "ref_aaa'),
        expect.stringContaining('There is nothing under "the first one"'),
        expect.stringContaining('not JSON'),
        expect.stringContaining('ref is not valid'),
        expect.stringContaining('lines must be a range'),
        '(nothing)',
      ]);
    });

    it('is not given twice', async () => {
      deployment.upstream.next(
        says((ref) => ({ toolCalls: [retrieve({ ref })] })),
        says((ref) => ({ toolCalls: [retrieve({ ref })] })),
      );

      await ask();

      expect(results()).toEqual([APPLES, expect.stringContaining('given above already')]);
    });

    it('is cut to max_tokens, with the way to the rest', async () => {
      deployment.upstream.next(
        says((ref) => ({ toolCalls: [retrieve({ ref, max_tokens: 200 })] })),
        says((ref) => ({ toolCalls: [retrieve({ ref, lines: '11-40' })] })),
      );

      await ask();

      const [cut, rest] = results().map(String);
      const [, last, of, next] =
        /\[cut after line (\d+) of (\d+); ask for lines=(\d+)-40/.exec(cut ?? '') ?? [];
      expect([of, next]).toEqual(['40', String(Number(last) + 1)]);
      expect(cut?.split('\n').slice(0, -1)).toEqual(APPLES.split('\n').slice(0, Number(last)));
      expect(rest).toBe(APPLES.split('\n').slice(10).join('\n'));
    });

    it('ends after three rounds, in words', async () => {
      const again: Behaviour = says((apples, pears) => ({
        content: 'Again. ',
        toolCalls: [retrieve({ ref: apples, lines: `${++calls}` }), retrieve({ ref: pears })],
      }));
      deployment.upstream.next(again, again, again, again);

      const { message, finish } = await ask();

      expect(sentMessages()).toHaveLength(4);
      expect(finish).toBe('stop');
      expect(message.content).toBe('Again. Again. Again. Again. ');
      expect(message.tool_calls ?? []).toEqual([]);
      expect(results().at(-1)).toContain('Nothing more can be fetched for this answer;');
    });

    it('has as many rounds as retrieval_max_rounds says; then the caller’s calls flow', async () => {
      deployment.upstream.next(
        says((ref) => ({ content: 'One. ', toolCalls: [retrieve({ ref })] })),
        says((_, ref) => ({
          content: 'Two.',
          toolCalls: [retrieve({ ref }), call('search', { of: 'figs' })],
        })),
      );

      const { message, finish } = await ask({ memory_strategy: { ...STRATEGY, retrieval_max_rounds: 1 } });

      expect(sentMessages()).toHaveLength(2);
      expect([message.content, finish]).toEqual(['One. Two.', 'tool_calls']);
      expect(message.tool_calls?.map((one) => one.type === 'function' && one.function.name)).toEqual([
        'search',
      ]);
    });

    it('leaves the last round to the caller’s tools where a call is required', async () => {
      const again = says((ref) => ({ toolCalls: [retrieve({ ref, lines: `${++calls}` })] }));
      const figs = says(() => ({ toolCalls: [call('search', { of: 'figs' })] }));
      deployment.upstream.next(again, again, again, figs);

      const { message, finish } = await ask({ tool_choice: 'required' });

      const offered = deployment.chats().map(({ body }) => body.tools?.length);
      const all = tools.length + 1;
      expect(offered).toEqual([all, all, all, tools.length]);
      expect([finish, message.tool_calls?.length]).toEqual(['tool_calls', 1]);
    });

    it('changes no tool of a model that drops its reasoning after a change, only what it may call', async () => {
      const again = says((ref) => ({ toolCalls: [retrieve({ ref, lines: `${++calls}` })] }));
      const figs = says(() => ({ toolCalls: [call('search', { of: 'figs' })] }));
      deployment.upstream.next(again, again, again, figs);

      const { finish } = await ask({
        ...{ model: 'gpt-6.2-sol', tool_choice: 'required' },
        memory_strategy: { ...STRATEGY, upstream_api: 'chat' },
      });

      const bodies = deployment.chats().map(({ body }) => body);
      expect(new Set(bodies.map((body) => JSON.stringify(body.tools))).size).toBe(1);
      const choices = bodies.map((body) => body.tool_choice);
      expect(choices.slice(0, 3)).toEqual(['required', 'required', 'required']);
      expect(choices[3]).toMatchObject({ type: 'allowed_tools' });
      expect(JSON.stringify(choices[3])).toMatch(/"search"/);
      expect(JSON.stringify(choices[3])).not.toMatch(/retrieve_ref/);
      expect(finish).toBe('tool_calls');
    });

    it('is cut to the room that the window leaves', async () => {
      deployment.upstream.next(
        says((apples, pears) => ({ toolCalls: [retrieve({ ref: apples }), retrieve({ ref: pears })] })),
      );

      await ask({ memory_strategy: { ...STRATEGY, context_window_tokens: 2_000 } });

      expect(results().join('\n')).toMatch(/no room for more in this answer/);
    });
  },
);

describe('the tool', () => {
  it('follows the caller’s on every request, in the same bytes', async () => {
    await askWhole({ messages: messages.slice(0, 2) });
    await askStream({ tool_choice: 'none', response_format: { type: 'json_object' } });

    const listed = deployment.chats().map(({ body }) => body.tools);
    expect(listed).toEqual([
      [...tools, TOOL],
      [...tools, TOOL],
    ]);
    const bytes = deployment
      .chats()
      .map(({ rawBody }) => /"tools":\[.*?\}\}\}\]/s.exec(String(rawBody))?.[0]);
    expect(bytes[0]).toBe(bytes[1]);
  });

  it('is the only one where the caller has none', async () => {
    await askWhole({ tools: undefined });
    await askWhole({ tools: null });

    expect(deployment.chats().map(({ body }) => body.tools)).toEqual([[TOOL], [TOOL]]);
  });

  it('takes another name where the caller has a tool of its name', async () => {
    const own = { type: 'function', function: { name: 'retrieve_ref', parameters: { type: 'object' } } };
    deployment.upstream.next(says((ref) => ({ toolCalls: [call('precis_retrieve_ref', { ref })] })));

    await askWhole({ tools: [...tools, own] });

    expect(deployment.lastChat().body.tools.slice(-2)).toEqual([own, definitionOf('precis_retrieve_ref')]);
    expect(results()).toEqual([APPLES]);
  });

  it('is not there with several choices, and the report says so', async () => {
    const { memory } = await askWhole({ n: 2 });

    expect(deployment.lastChat().body.tools).toEqual(tools);
    expect(memory?.warnings).toContain('retrieval_off');
  });

  it('is not there where no round is allowed', async () => {
    const { memory } = await askWhole({ memory_strategy: { ...STRATEGY, retrieval_max_rounds: 0 } });

    expect(deployment.lastChat().body.tools).toEqual(tools);
    expect(memory?.warnings).toEqual([]);
  });

  it('is not there where the caller has as many tools as there may be, and the report says so', async () => {
    const many = Array.from({ length: 128 }, (_, at) => ({
      type: 'function',
      function: { name: `tool_${at}`, parameters: { type: 'object' } },
    }));
    const { memory } = await askWhole({ tools: many });

    expect(deployment.lastChat().body.tools).toEqual(many);
    expect(memory?.warnings).toContain('retrieval_off');
  });

  it.each([
    ['auto', [TOOL, LIST]],
    ['compact', [TOOL]],
  ])('is there in %s, unless the caller has no tools or turns it off', async (mode, ours) => {
    const asked = async (more: object) => {
      await askWhole(more);
      return deployment.lastChat().body.tools;
    };
    expect(await asked({ memory_strategy: mode })).toEqual([...tools, ...ours]);
    expect(await asked({ memory_strategy: mode, tools: undefined })).toBeUndefined();
    expect(await asked({ memory_strategy: { mode, compact_retrieval: 'off' } })).toEqual(tools);
    expect(await asked({ memory_strategy: { mode, compact_offload: false } })).toEqual(tools);
  });

  it('is there in the same bytes from the first request on, whatever the caller chooses', async () => {
    const memory_strategy = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 };
    const lists: string[] = [];
    const marks: number[] = [];
    for (const [count, tool_choice] of [
      [2, 'auto'],
      [4, 'none'],
      [messages.length, 'none'],
      [messages.length, 'auto'],
    ] as const) {
      const { memory } = await askWhole({
        messages: messages.slice(0, count),
        tool_choice,
        memory_strategy,
      });
      const { body } = deployment.lastChat();
      lists.push(JSON.stringify(body.tools));
      marks.push(markersIn(body.messages).length);
      expect(memory?.warnings.includes('retrieval_off')).toBe(tool_choice === 'none');
    }
    expect([...new Set(lists)]).toEqual([JSON.stringify([...tools, TOOL])]);
    expect(marks).toEqual([0, 0, 2, 2]);
  });

  it('lets auto offload what is large before the model has seen it', async () => {
    const large = rows('a large one', 2_500);
    const fresh = [...messages.slice(0, 2), ...weighing('call_large', 'all', large)];
    deployment.upstream.next(says((ref) => ({ toolCalls: [retrieve({ ref, grep: 'row 2499 ' })] })));

    const { memory } = await askWhole({ messages: fresh, memory_strategy: 'auto' });

    expect(memory?.applied_edits).toMatchObject([{ type: 'offload' }]);
    expect(markersIn(sentMessages()[0] ?? [])).toHaveLength(1);
    expect(results()[0]).toContain('row 2499 of a large one');
  });
});

overProtocols('what the model can’t fetch', deployment, () => {
  const seeing = (what: string) => [
    ...messages.slice(0, 2),
    ...weighing('call_large', what, rows(what, 2_500)),
  ];
  const asked = (messages: Message[], tool_choice: unknown) =>
    askWhole({ messages, tool_choice, memory_strategy: 'auto' });
  const named = { type: 'function', function: { name: 'search' } };

  it.each([['none'], [named]])('by the choice %j stays whole, and in later views', async (tool_choice) => {
    const fresh = seeing(`what ${typeof tool_choice} keeps`);
    const rest = [assistant('A lot.'), user('And why?')];
    const first = await asked(fresh, tool_choice);
    const second = await asked([...fresh, ...rest], 'auto');

    expect(first.memory?.warnings).toContain('retrieval_off');
    expect(second.memory?.warnings).not.toContain('retrieval_off');
    expect(second.memory?.frontier.moved).toBe(false);
    const [one = [], two = []] = sentMessages();
    expect(markersIn(one)).toEqual([]);
    expect(two.slice(0, one.length)).toEqual(one);
  });

  it('since it is not on the caller’s list is put there', async () => {
    const allowed_tools = { mode: 'auto', tools: [named] };
    const { memory } = await asked(seeing('a list'), { type: 'allowed_tools', allowed_tools });

    expect(memory?.warnings).not.toContain('retrieval_off');
    expect(markersIn(sentMessages()[0] ?? [])).toHaveLength(1);
    expect(JSON.stringify(deployment.lastChat().body)).toMatch(/"allowed_tools".*"retrieve_ref"/);
  });
});

inTurn(
  FORMS,
  ({ form, over }) => `with an archive, in ${form}, over ${over}`,
  ({ form, ask, protocol }) => {
    deployment.over(protocol);
    const fields = {
      conversation_id: `searched in ${form}`,
      memory_strategy: { ...STRATEGY, archive: true },
    };

    it('the model may search it too, on every request', async () => {
      await ask(fields);
      await until('the conversation is archived', async () => {
        const path = `/v1/conversations/${encodeURIComponent(fields.conversation_id)}/messages`;
        return (await deployment.fetch(path)).ok;
      });
      deployment.upstream.next(
        says((ref) => ({ toolCalls: [call('search_memory', { query: 'pears 39' }), retrieve({ ref })] })),
        says(() => ({
          toolCalls: [call('search_memory', { query: 'quinces' }), call('search_memory', '{}')],
        })),
        says(() => ({ content: 'There.' })),
      );

      const { message } = await ask(fields);

      expect(message.content).toBe('There.');
      expect(results()).toEqual([
        expect.stringMatching(/^\[5 tool\] .*row 39 of pears/s),
        APPLES,
        expect.stringContaining('No message holds all of these words.'),
        expect.stringContaining('query is not valid'),
      ]);
      const named = deployment
        .chats()
        .map(({ body }) =>
          body.tools.map((tool: Json) => (tool.function as Json | undefined)?.name ?? tool.name),
        );
      expect(new Set(named.map(String))).toEqual(
        new Set([[...tools.map((tool) => tool.function.name), 'retrieve_ref', 'search_memory'].join()]),
      );
    });

    it('what a place names that was found may be fetched', async () => {
      const named = { ...fields, conversation_id: `named in ${form}` };
      await ask();
      const [ref = ''] = refsIn(sentMessages()[0] ?? []);
      await ask({ ...named, messages: [user(`The quinces lie under ref=${ref}.`)] });
      const path = `/v1/conversations/${encodeURIComponent(named.conversation_id)}/messages`;
      await until('the conversation is archived', async () => (await deployment.fetch(path)).ok);
      deployment.upstream.next(
        says(() => ({ toolCalls: [retrieve({ ref })] })),
        says(() => ({ toolCalls: [call('search_memory', { query: 'quinces' })] })),
        says(() => ({ toolCalls: [retrieve({ ref })] })),
      );

      await ask({ ...named, messages: [user('Where do they lie?')] });

      const last = sentMessages().at(-1) ?? [];
      expect(last.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))).toEqual([
        expect.stringContaining('There is nothing under'),
        expect.stringContaining(ref),
        expect.stringContaining(APPLES),
      ]);
    });

    it('the model finds what this very request has brought', async () => {
      deployment.upstream.next(
        says(() => ({ toolCalls: [call('search_memory', { query: 'row 39 pears' })] })),
      );

      await ask({ ...fields, conversation_id: `new in ${form}` });

      expect(results()).toEqual([expect.stringMatching(/^\[5 tool\] … .*row 39 of pears/s)]);
    });

    it('F1: the model finds nothing of another conversation that opens alike and has no name', async () => {
      const opening = [messages[1], assistant(`A lot, in ${form}.`)];
      const search = (query: string, said: string) => {
        deployment.upstream.next(says(() => ({ toolCalls: [call('search_memory', { query })] })));
        const array = [...opening, user(said)] as Message[];
        return ask({ ...fields, conversation_id: undefined, messages: array, tools });
      };

      await search('card', 'My card is 4929.');
      expect(results()).toEqual(['[2 user] My card is 4929.']);
      await search('card', 'What was my card?');

      expect(results()).toEqual(['[2 user] What was my card?']);
    });

    it('a conversation that has no name yet is explained in words', async () => {
      deployment.upstream.next(says(() => ({ toolCalls: [call('search_memory', { query: 'pears' })] })));

      await ask({ ...fields, conversation_id: undefined, messages: messages.slice(0, 2), tools });

      expect(results()).toEqual(['Nothing of this conversation is kept yet.']);
    });
  },
);

describe('GET /v1/refs/tool', () => {
  it('gives the definition to callers who run the tool themselves', async () => {
    const response = await deployment.fetch('/v1/refs/tool');

    expect(await response.json()).toEqual(TOOL);
    const { status, headers } = await deployment.fetch('/v1/refs/tool', { method: 'DELETE' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

overProtocols(
  'a long run of an agent whose model may fetch, in both forms in turn',
  deployment,
  (protocol) => {
    /** The bytes of a body but for its form. */
    const formless = ({ rawBody }: Sent['seen']): string =>
      rawBody.toString().replace(/"stream":(?:true|false),|"stream_options":\{[^}]*\},/g, '');

    it('is answered at every request, keeps its tools and its prefix, and loses nothing', async () => {
      const run = agentRun('retrieval', 7);
      const memory_strategy = { mode: 'auto', token_budget: 8_000, compact_retrieval: 'tool' };
      const caller = new AgentCaller(deployment, { memory_strategy });
      const known = new Set<string>();
      const all: Sent[] = [];
      const lost: string[] = [];
      for (const [at, length] of lengthsOf(run).entries()) {
        const sent = await caller.send(run.slice(0, length), { stream: at % 2 === 0 });
        lost.push(...(await lostContents(sent, deployment, known)));
        all.push(sent);
      }

      expect(brokenPrefixes(all, formless)).toEqual([]);
      expect(lost).toEqual([]);
      for (const { seen } of all) expect(seen.body.tools).toEqual(toolsSent(protocol));
      const atSight = all.filter(
        ({ memory }) => !memory.frontier.moved && memory.applied_edits.some(({ type }) => type === 'offload'),
      );
      expect(atSight.length).toBeGreaterThan(0);
    });
  },
);

overProtocols('when the model can’t be asked again', [deployment, attentive], () => {
  const refusal: Behaviour = {
    type: 'error',
    status: 429,
    body: { error: { message: 'Slow down.', type: 'requests', param: null, code: 'rate_limit_exceeded' } },
  };

  it('the upstream’s own error is the whole answer', async () => {
    deployment.upstream.next(
      says((ref) => ({ toolCalls: [retrieve({ ref })] })),
      refusal,
    );

    await expect(askWhole()).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  });

  it('a stream ends with it', async () => {
    deployment.upstream.next(
      says((ref) => ({ content: 'Let me look.', toolCalls: [retrieve({ ref })] })),
      refusal,
    );

    await expect(askStream()).rejects.toThrow('Slow down.');
  });

  it('a stream whose upstream dies in a later round breaks off as any other', async () => {
    deployment.upstream.next(
      says((ref) => ({ toolCalls: [retrieve({ ref })] })),
      { type: 'die-mid-stream' },
    );

    await expect(askStream()).rejects.toThrow('broke off');
  });

  it('because its caller has left, the second upstream learns it', async () => {
    deployment.upstream.next(
      says((ref) => ({ content: 'Let me look.', toolCalls: [retrieve({ ref })] })),
      { type: 'slow-stream', chunks: 600, intervalMs: 20 },
    );
    const left = new AbortController();
    const stream = await deployment
      .client()
      .chat.completions.create({ ...paramsOf(), stream: true }, { signal: left.signal });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content?.startsWith('word')) break;
    left.abort();

    await until('the second upstream is closed', () => deployment.chats()[1]?.closed === true);
  });

  it('the second upstream learns it also where it has not begun to answer', async () => {
    attentive.upstream.next(
      says((ref) => ({ content: 'Let me look.', toolCalls: [retrieve({ ref })] })),
      { type: 'hang' },
    );
    const left = new AbortController();
    const { body } = await attentive.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...paramsOf(), stream: true }),
      signal: left.signal,
    });
    // Reads on, as a caller does who has not left: to stop reading would be leaving.
    const reading = body?.pipeTo(new WritableStream()).catch(() => undefined);
    await until('the second upstream is asked', () => attentive.chats().length === 2);
    left.abort();
    await reading;

    // A caller who has left is noticed when a comment can't be written: the first or the second.
    await until('the second upstream is closed', () => attentive.chats()[1]?.closed === true, 50_000);
  });
});

overProtocols('runTools', deployment, () => {
  it('sees the caller’s own tools alone', async () => {
    const of: string[] = [];
    deployment.upstream.next(
      says((ref) => ({ toolCalls: [retrieve({ ref })] })),
      says(() => ({ toolCalls: [call('weigh', { of: 'figs' })] })),
      says((ref) => ({ toolCalls: [retrieve({ ref, grep: 'row 6 ' })] })),
      says(() => ({ content: 'Done.' })),
    );
    const runner = deployment.client().chat.completions.runTools({
      ...paramsOf(),
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weigh',
            parameters: { type: 'object', properties: {} },
            parse: JSON.parse,
            function: (args: { of: string }) => {
              of.push(args.of);
              return '12 g';
            },
          },
        },
      ],
    } as unknown as Parameters<ReturnType<typeof deployment.client>['chat']['completions']['runTools']>[0]);

    expect(await runner.finalContent()).toBe('Done.');
    expect(of).toEqual(['figs']);
    expect(sentMessages()).toHaveLength(4);
  });
});
