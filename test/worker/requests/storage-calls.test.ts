/**
 * What a request asks of storage: calls to R2 and to Durable Objects, before its body is sent and
 * after its answer. docs/measurements.md has these counts as a table.
 */
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { Tenants } from '../../../src/tenant/identity.ts';
import {
  assistant,
  body,
  calls,
  lines,
  type Message,
  result,
  system,
  user,
} from '../../support/conversations/chat.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { quiet } from '../../support/quiet.ts';
import {
  question,
  remoteConversation,
  SUMMARIZER,
  startApp,
  throughCalls,
  watchedBucket,
  watchedObjects,
} from '../support.ts';

beforeEach(quiet);

const UPSTREAM = 'http://upstream.test/v1/chat/completions';

const KEEP = 'ConversationMemory.events.add';

let tenants = 0;

/** The app in an isolate of its own, before storage that counts. @param own names the tenant */
function isolate(variables: Partial<Env> = {}, own = ++tenants) {
  const key = `sk-a-caller-whose-calls-are-counted-${own}`;
  const watched = watchedBucket();
  const objects = {
    ConversationMemory: watchedObjects(env.CONVERSATION_MEMORY),
    UserMemory: watchedObjects(env.USER_MEMORY),
    TenantMemory: watchedObjects(env.TENANT_MEMORY),
  };
  const bindings = {
    ...SUMMARIZER,
    CONVERSATION_MEMORY: objects.ConversationMemory.namespace,
    USER_MEMORY: objects.UserMemory.namespace,
    TENANT_MEMORY: objects.TenantMemory.namespace,
    ...variables,
  };
  const app = startApp(watched.bucket, bindings, key);
  const counted = (): string[] => [
    ...watched.operations.map(({ name }) => `R2.${name}`),
    ...Object.entries(objects).flatMap(([name, { calls }]) => calls.map((method) => `${name}.${method}`)),
  ];
  let before: string[] = [];
  let words: string | undefined;
  let asked = 0;
  app.answer.words = ({ url }) => {
    if (url !== UPSTREAM) return writeSections(new Map([['## Progress', 'Much was done.']]));
    before = counted();
    return words as string;
  };
  app.answer.calls = ({ url }) =>
    url === UPSTREAM && words === undefined ? (calls(callAfter(asked)).tool_calls as object[]) : undefined;
  /** @param answer without one, a tool is called, as in the next `stepOf`, and the round goes on */
  const ask = async (messages: readonly Message[], fields: Message, answer?: string) => {
    words = answer;
    asked = messages.length;
    const start = counted();
    const response = await app.chat(body(messages, fields));
    expect(response.status).toBe(200);
    const reported = (name: string) => response.headers.get(`x-memory-${name}`);
    const behind = without(counted(), before);
    const others = behind.filter((call) => call !== KEEP);
    return {
      reported: {
        applied: reported('applied'),
        frontier: reported('frontier'),
        warning: reported('warning'),
      },
      calls: { before: without(before, start), behind: others },
      /** Calls after the answer that keep the event of the request. */
      events: behind.length - others.length,
    };
  };
  return { own, app, ask, tenant: new Tenants(env.PRECIS_SECRET).ofToken(key).id };
}

/** A list without the entries of another one, sorted. */
function without(all: readonly string[], some: readonly string[]): string[] {
  const left = [...all];
  for (const one of some) left.splice(left.indexOf(one), 1);
  return left.sort();
}

/** Stops the clock. @returns moves it on, by milliseconds */
function clock(): (more: number) => void {
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  return (more) => {
    now += more;
  };
}

/** Waits for the summaries that a tenant's objects are making. */
async function settled(tenant: string): Promise<void> {
  const known = await runInDurableObject(env.TENANT_MEMORY.getByName(tenant), (_, { storage: { sql } }) =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'conversations'").toArray().length === 0
      ? []
      : sql.exec<{ name: string }>('SELECT name FROM conversations').toArray(),
  );
  for (const { name } of known) {
    const conversation = remoteConversation(name);
    await vi.waitUntil(
      async () => {
        const { memories } = await conversation((stub) => stub.versions.overview());
        return memories.every(({ status }) => status !== 'processing');
      },
      { timeout: 60_000 },
    );
  }
}

/** The call in the answer to a number of messages. */
const callAfter = (messages: number): [string, string, string] => [
  `call_${messages}`,
  'search',
  `{"page":${messages}}`,
];

/** The answer to an array, with its result. */
const stepOf = ({ length }: readonly Message[], own: number, count = 60): Message[] => [
  calls(callAfter(length)),
  result(`call_${length}`, lines(count, `${own} page ${length}`)),
];

interface Mode {
  readonly strategy: { readonly mode: string; readonly [field: string]: unknown };
  /** The edits in the steady state. */
  readonly applied: string;
  /** Steps, or answered rounds, until the frontier has just moved. */
  readonly steps?: number;
  readonly rounds?: number;
  /** Lines of the output in each of these steps. */
  readonly lines?: number;
}

const STEPS = { applied: 'compact', steps: 11 };
const COMPACT: Mode = { strategy: { mode: 'compact', token_budget: 8_000 }, ...STEPS };
const AUTO: Mode = { strategy: { mode: 'auto', token_budget: 8_000 }, ...STEPS };
const SUMMARIZED: Mode = {
  strategy: {
    mode: 'auto',
    token_budget: 2_500,
    min_reclaim_tokens: 0,
    summary_max_tokens: 400,
    keep_last_n_turns: 1,
  },
  applied: 'summarize',
  rounds: 7,
};
const SUMMARIZE: Mode = {
  strategy: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 },
  applied: 'summarize',
  rounds: 5,
};
const ROLLING: Mode = {
  strategy: { mode: 'rolling_summary', full_zone_turns: 0 },
  applied: 'summarize',
  rounds: 5,
};

/** With tools, and outputs that are offloaded at sight. */
const DIGESTS: Mode = {
  strategy: { mode: 'auto', offload_min_tokens: 1_000, offload_fresh_tokens: 1_000, offload_digest: 'model' },
  applied: 'offload',
  steps: 2,
  lines: 200,
};
const TOOLS = {
  tools: [{ type: 'function', function: { name: 'search', parameters: { type: 'object' } } }],
};

const MODES: [string, Mode][] = [
  ['none', { strategy: { mode: 'none' }, applied: 'none', steps: 3 }],
  ['trim', { strategy: { mode: 'trim', max_turns: 4, keep_last_n_turns: 2 }, applied: 'trim', rounds: 6 }],
  ['compact', COMPACT],
  ['auto', AUTO],
  ['auto with a summary', SUMMARIZED],
  ['summarize', SUMMARIZE],
  ['rolling_summary', ROLLING],
];

/** A conversation whose frontier has just moved. */
async function conversation(
  { strategy, steps = 0, rounds = 0, lines: count }: Mode,
  fields: Message = {},
  variables: Partial<Env> = {},
  tenant?: number,
) {
  const first = isolate(variables, tenant);
  const { own, ask } = first;
  const all = { ...fields, memory_strategy: strategy };
  const messages: Message[] = [system('Do.'), user(`Go ${own}.`)];
  const asked: Awaited<ReturnType<typeof ask>>[] = [];
  for (let n = 1; n <= steps; n++) {
    messages.push(...stepOf(messages, own, count));
    asked.push(await ask(messages, all));
  }
  for (let n = 1; n <= rounds; n++) {
    messages.push(assistant('This is the answer.'), user(`${own}. ${question(n)}`));
    asked.push(await ask(messages, all, n < rounds ? 'This is the answer.' : undefined));
    await settled(first.tenant);
  }
  const send = () => ask(messages, all);
  const stepMore = (count = 3) => {
    messages.push(...stepOf(messages, own, count));
    return send();
  };
  return { ...first, messages, fields: all, asked, send, stepMore };
}

const NOTHING = { before: [], behind: [] };
const NAMED = { conversation_id: 'a conversation', user: 'ann' };

type Named = [name: string, fields: Message, variables: Partial<Env>, before: string[]];

const BARE: Named = ['without a name', {}, {}, []];
/** What is read before a request, which each mode could read again. */
const READ: readonly Named[] = [
  // Its settings may have changed.
  ['with a name', NAMED, {}, ['ConversationMemory.state.settings']],
  ['with memory of other conversations', { ...NAMED, memory_injection: true }, {}, []],
  ['with memory blocks, and a name', { ...NAMED, memory_injection: false, memory_blocks: ['team'] }, {}, []],
];
/** With a part of these, and with retention, which the tenant's object is asked for. */
const PARTS: readonly Named[] = [
  ['with retention', {}, { RETENTION_DAYS: '90' }, []],
  ['with a name, and all settings in the request', { ...NAMED, memory_injection: false }, {}, []],
  ['with memory blocks', { memory_blocks: ['team'] }, {}, []],
];
/** Without an edit, with edits, with an object's memory. Other modes take fewer rows. */
const EACH: ReadonlySet<string> = new Set(ofTurn(1, ['none', 'auto', 'rolling_summary']));

/** The rows for a mode: each mode and each row at least once, and all rows in these modes. */
function named(mode: string): Named[] {
  if (EACH.has(mode)) return [BARE, ...READ, ...PARTS];
  const at = MODES.findIndex(([name]) => name === mode);
  return [BARE, ...[READ, PARTS].flatMap((rows) => rows.slice(at % rows.length).slice(0, 1))];
}

describe.each(MODES)('a conversation that goes on, in mode %s,', (name, mode) => {
  const steady = { applied: mode.applied, warning: null };

  it.each(named(name))('%s', async (_, fields, variables, before) => {
    const { send, stepMore } = await conversation(mode, fields, variables);

    const again = await send();
    const further = [await stepMore(), await stepMore()];

    // A request in mode none has an event if it names its conversation.
    const events = name === 'none' && !('conversation_id' in fields) ? 0 : 1;
    for (const one of [again, ...further]) expect(one.events).toBe(events);
    expect(again.calls).toEqual({ before, behind: [] });
    for (const { reported, calls } of further) {
      expect(reported).toMatchObject(steady);
      expect(reported.frontier).not.toBe('moved');
      expect(calls).toEqual({ before, behind: [] });
    }
  });

  if (name === 'none') return;

  it('with an archive writes what is new, after the answer', async () => {
    const { send, stepMore } = await conversation({ ...mode, strategy: { ...mode.strategy, archive: true } });

    const again = await send();
    const further = await stepMore();

    expect(again.calls).toEqual(NOTHING);
    expect(further.reported).toMatchObject(steady);
    expect(further.calls).toEqual({
      before: [],
      behind: [
        'ConversationMemory.archive.add',
        'ConversationMemory.archive.lacking',
        'ConversationMemory.archive.notePacks',
        'R2.put',
      ],
    });
  });
});

describe.each([
  ['compact', COMPACT],
  ['auto', AUTO],
])('a conversation whose next move is near, in mode %s,', (_, mode) => {
  it('has each new output written after the answer, and nothing before', async () => {
    const { stepMore } = await conversation(mode);
    for (let n = 0; n < 3; n++) await stepMore(60);

    const { reported, calls } = await stepMore(60);

    expect(reported.frontier).toBe('kept');
    expect(calls).toEqual({ before: [], behind: ['R2.put', 'TenantMemory.note'] });
  });
});

describe('a conversation with digests of large outputs', () => {
  it('has all new ones made by one call before the body is sent, and nothing asked again', async () => {
    const { own, messages, ask, fields, send, stepMore } = await conversation(DIGESTS, TOOLS);

    const small = [await send(), await stepMore(), await send()];
    for (const count of [200, 200]) messages.push(...stepOf(messages, own, count));
    const large = await ask(messages, fields);
    const after = [await send(), await stepMore()];

    for (const { calls } of small) expect(calls).toEqual(NOTHING);
    expect(large.reported).toMatchObject({ applied: 'offload', warning: null });
    expect(large.calls.before.filter((call) => call.startsWith('Conv'))).toEqual([
      // Another isolate may have answered where the caller has skipped a request.
      'ConversationMemory.keptRounds.find',
      'ConversationMemory.outputDigests.find',
      'ConversationMemory.outputDigests.make',
    ]);
    for (const { reported, calls } of after) {
      expect(reported).toMatchObject({ applied: 'offload', warning: null });
      expect(calls).toEqual(NOTHING);
    }
  });
});

describe('a client that sends other answers back than it got', () => {
  it.each<[string, string | undefined, (own: number, n: number) => Message[]]>([
    [
      'since it gives calls ids of its own',
      undefined,
      (own, n) => [calls([`own_${n}`, 'search', `{"page":${n}}`]), result(`own_${n}`, `${own} page ${n}`)],
    ],
    [
      'since it cuts reasoning out of texts',
      '<think>It is the first one.</think>The first one.',
      (own, n) => [assistant('The first one.'), user(`${own}. ${question(n)}`)],
    ],
    [
      'since it cuts texts at their first sentence',
      'The first one. There are others.',
      (own, n) => [assistant('The first one.'), user(`${own}. ${question(n)}`)],
    ],
  ])('%s, waits for storage once', async (_, answer, next) => {
    const pass = clock();
    const { ask, own } = isolate();
    const fields = { ...NAMED, ...TOOLS, memory_injection: false, memory_strategy: AUTO.strategy };
    const messages: Message[] = [system('Do.'), user(`Go ${own}.`)];
    await ask(messages, fields, answer);
    const asked = [];
    for (let n = 1; n <= 4; n++) {
      messages.push(...next(own, n));
      asked.push((await ask(messages, fields, answer)).calls);
    }
    const later = [];
    for (let n = 5; n <= 13; n++) {
      pass(20_000);
      messages.push(...next(own, n));
      later.push((await ask(messages, fields, answer)).calls);
    }

    const look = ['ConversationMemory.keptRounds.find'];
    expect(asked.map(({ before }) => before)).toEqual([look, [], [], []]);
    expect(later.flatMap(({ before }) => before)).toEqual([]);
    expect(later.flatMap(({ behind }) => behind)).toEqual(expect.arrayContaining(look));
  });
});

describe('a conversation with a name', () => {
  it('has its view made while its settings are read, if the request has its own strategy', async () => {
    let claim = () => {};
    const claimed = new Promise<void>((resolve) => {
      claim = resolve;
    });
    const namespace = throughCalls(env.CONVERSATION_MEMORY, async (path, goOn) => {
      if (path === 'state.settings') await claimed;
      if (path === 'text') claim();
      return goOn();
    });
    const { ask } = isolate({ CONVERSATION_MEMORY: namespace });
    const messages = [1, 2, 3, 4].flatMap((n) => [user(question(n)), assistant('This is the answer.')]);
    const memory_strategy = SUMMARIZE.strategy;
    // Settings are waited for for 1.5 s, and the tokenizer may take longer to load.
    await ask(messages, { memory_strategy: { mode: 'compact' }, memory_report: true });

    const { reported } = await ask([...messages, user('And now?')], { ...NAMED, memory_strategy });

    expect(reported).toMatchObject({ applied: 'summarize', warning: null });
  });
});

describe('a conversation that begins with memory blocks', () => {
  const BLOCKS = { memory_strategy: 'none', memory_injection: false, memory_blocks: ['team'] };

  it('asks whether they are frozen, reads them, and freezes them', async () => {
    const { ask } = isolate();

    const { calls } = await ask([user('Hello')], { ...NAMED, ...BLOCKS });

    expect(calls).toEqual({
      before: [
        'ConversationMemory.frozenBlocks.at',
        'ConversationMemory.frozenBlocks.freeze',
        'TenantMemory.blocks.read',
      ],
      behind: [],
    });
  });

  it('only reads them before it has a name', async () => {
    const { ask } = isolate();

    const { calls } = await ask([user('Hello')], BLOCKS);

    expect(calls).toEqual({ before: ['TenantMemory.blocks.read'], behind: [] });
  });

  it('is asked by another isolate whether they are frozen', async () => {
    const { ask, own } = isolate();
    const messages = [user('Hello')];
    await ask(messages, { ...NAMED, ...BLOCKS });

    const { calls } = await isolate({}, own).ask(messages, { ...NAMED, ...BLOCKS });

    expect(calls).toEqual({ before: ['ConversationMemory.frozenBlocks.at'], behind: [] });
  });
});

describe('a conversation whose frontier moves', () => {
  const moveOf = async (mode: Mode) => {
    const { asked } = await conversation(mode);
    const moved = asked.findLast(({ reported }) => reported.frontier === 'moved');
    return { asked, calls: moved?.calls };
  };

  it.each([
    ['compact', COMPACT],
    ['auto', AUTO],
  ])('has each removed output looked at and a manifest written, in mode %s', async (_, mode) => {
    const { calls } = await moveOf(mode);

    // Nobody waits for them.
    const all = [...(calls?.before ?? []), ...(calls?.behind ?? [])];
    expect(all.toSorted()).toEqual([...Array(8).fill('R2.head'), 'R2.put']);
  });

  it('has its summary made and its transcript written, in mode summarize', async () => {
    const { calls } = await moveOf(SUMMARIZE);

    expect(calls).toEqual({
      before: ['ConversationMemory.text', 'ConversationMemory.text', 'R2.put', 'TenantMemory.note'],
      behind: [],
    });
  });

  it('finds its memory, and hands over the next one when the round is answered, in mode rolling_summary', async () => {
    const { asked, calls } = await moveOf(ROLLING);

    expect(calls).toEqual({ before: ['ConversationMemory.versions.find'], behind: [] });
    expect(asked.at(-2)?.calls).toEqual({
      before: ['ConversationMemory.versions.find'],
      behind: ['ConversationMemory.text', 'R2.put', 'TenantMemory.note'],
    });
  });
});

describe('the same round that is answered again', () => {
  it('hands nothing over once its memory is known to be made, in mode rolling_summary', async () => {
    const { messages, ask, fields, tenant } = await conversation(ROLLING);
    const answer = async () => {
      const { calls } = await ask(messages, fields, 'This is the answer.');
      await settled(tenant);
      return calls.behind.filter((call) => call === 'ConversationMemory.text');
    };

    expect(await answer()).toEqual(['ConversationMemory.text']);
    expect(await answer()).toEqual(['ConversationMemory.text']);
    expect(await answer()).toEqual([]);
    expect(await answer()).toEqual([]);
  });
});

describe('a known conversation in an isolate that has not seen it', () => {
  it.each<[string, Mode, string[], string[]]>([
    ['compact', COMPACT, ['R2.head', 'TenantMemory.note'], []],
    ['auto', AUTO, ['R2.head', 'TenantMemory.note'], []],
    ['auto with a summary', SUMMARIZED, ['ConversationMemory.text', 'R2.head'], ['TenantMemory.note']],
    ['summarize', SUMMARIZE, ['ConversationMemory.text', 'R2.head'], ['TenantMemory.note']],
    ['rolling_summary', ROLLING, ['ConversationMemory.versions.find', 'R2.head'], ['TenantMemory.note']],
  ])('asks once, in mode %s', async (_, mode, before, behind) => {
    const { own, messages, fields } = await conversation(mode);
    const { ask } = isolate({}, own);

    const [first, second] = [await ask(messages, fields), await ask(messages, fields)];

    expect(first.calls).toEqual({ before, behind });
    expect(second.calls).toEqual(NOTHING);
  });
});

describe('as time passes, a conversation', () => {
  it.each<[string, Mode, Message, Partial<Env>]>([
    ['compact', COMPACT, {}, {}],
    ['auto', AUTO, { ...NAMED, memory_injection: false }, { RETENTION_DAYS: '90' }],
    ['auto with a summary', SUMMARIZED, { ...NAMED, memory_injection: true }, {}],
    ['auto with digests', DIGESTS, TOOLS, { RETENTION_DAYS: '90' }],
    ['summarize', SUMMARIZE, {}, { RETENTION_DAYS: '90' }],
    ['rolling_summary', ROLLING, { ...NAMED, memory_injection: true }, {}],
  ])('in mode %s never waits, and asks at most once a minute', async (_, mode, fields, variables) => {
    const pass = clock();
    const { send } = await conversation(mode, fields, variables);
    let behind = 0;

    for (let minute = 1; minute <= 8; minute++) {
      let inMinute = 0;
      for (let third = 0; third < 3; third++) {
        pass(20_000);
        const { reported, calls } = await send();
        expect(reported.warning).toBeNull();
        expect(calls.before).toEqual([]);
        inMinute += calls.behind.length;
      }
      expect(inMinute).toBeLessThanOrEqual(1);
      behind += inMinute;
    }

    expect(behind).toBeGreaterThan(4);
  });

  it.each<[string, Mode, Message, string]>([
    ['summarize', SUMMARIZE, NAMED, 'ConversationMemory.text'],
    ['rolling_summary', ROLLING, NAMED, 'ConversationMemory.versions.find'],
    ['auto with digests', DIGESTS, { ...NAMED, ...TOOLS }, 'ConversationMemory.outputDigests.find'],
    [
      'none, with memory of others',
      { strategy: { mode: 'none' }, applied: 'none', steps: 1 },
      { ...NAMED, memory_injection: true },
      'ConversationMemory.state.injection',
    ],
  ])(
    'that is deleted is asked for at once where it was deleted, in mode %s',
    async (_, mode, fields, asked) => {
      for (const [path, ofUser] of [
        ['/v1/conversations/a%20conversation/memory', 'ann'],
        ['/v1/memory', undefined],
      ] as const) {
        const { app, send } = await conversation(mode, fields);
        expect((await send()).calls.before).not.toContain(asked);
        const headers = ofUser === undefined ? {} : { 'x-memory-user': ofUser };

        const { status } = await app.request(path, { method: 'DELETE', headers });
        const { calls } = await send();

        expect(status).toBe(200);
        expect(calls.before).toContain(asked);
      }
    },
  );

  it('that another isolate has deleted is forgotten within five minutes, or when it is asked for after an answer', async () => {
    const pass = clock();
    const other = isolate();
    const { send } = await conversation(SUMMARIZE, { ...NAMED, memory_injection: false }, {}, other.own);
    const remove = () =>
      other.app.request('/v1/conversations/a%20conversation/memory', {
        method: 'DELETE',
        headers: { 'x-memory-user': 'ann' },
      });
    await remove();

    const asked = [];
    for (let minute = 1; minute <= 5; minute++) {
      pass(60_000);
      asked.push((await send()).calls);
    }

    expect(asked[0]?.before).toEqual([]);
    expect(asked.flatMap(({ behind }) => behind)).toContain('ConversationMemory.versions.find');
    expect(asked.flatMap(({ before }) => before)).toContain('ConversationMemory.text');
    await remove();
    pass(5 * 60_000);
    expect((await send()).calls.before).toContain('ConversationMemory.text');
  });
});
