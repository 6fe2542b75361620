/** A deployment whose data is saved, and put back into another one with the same secret. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Behaviour, behave, DEFAULT_ANSWER } from '../../../tools/upstream/behaviours.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { assistant, lines, type Message, step, system, user } from '../../support/conversations/chat.ts';
import { ADMIN_TOKEN, precis } from '../../support/deployment/backups.ts';
import { settingsOf } from '../../support/deployment/conversation-settings.ts';
import { type Deployment, deploy, KEY } from '../../support/deployment/deployment.ts';
import { SECRET } from '../../support/deployment/file-worker.ts';
import { until } from '../../support/deployment/polling.ts';
import { startRollingSummarizer } from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();
const folder = mkdtempSync(join(tmpdir(), 'precis-backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RETRIEVAL = 'Fetch what is missing.';
/** So long that no sealed record holds it by chance. */
const USER = 'ann of all the pears';

/** Fetches a removed content when it is asked to, and can. */
const reader: Behaviour = (request, response, recorded) => {
  const { messages, tools = [] } = recorded.body as {
    messages: Message[];
    tools?: { function: { name: string } }[];
  };
  const [ref] = refsIn(messages);
  const isOffered = tools.some((tool) => tool.function.name === 'retrieve_ref');
  const fetches = isOffered && ref !== undefined && messages.at(-1)?.content === RETRIEVAL;
  const call = {
    id: 'call_of_the_model',
    name: 'retrieve_ref',
    arguments: JSON.stringify({ ref, lines: '1-5' }),
  };
  void behave(
    fetches ? { type: 'answer', toolCalls: [call] } : { type: 'answer' },
    request,
    response,
    recorded,
  );
};

const vars = { ...summarizer.vars, ADMIN_TOKEN };
const home = deploy({ vars, upstream: { chat: reader }, alone: true });
const away = deploy({ vars, upstream: { chat: reader }, alone: true });

const tools = [
  {
    type: 'function',
    function: { name: 'read_file', parameters: { type: 'object', properties: { path: { type: 'string' } } } },
  },
];

/** A conversation that its caller keeps. */
class Kept {
  readonly id: string;
  readonly fields: object;
  readonly messages: Message[] = [system('You help.')];
  private turns = 0;

  constructor(id: string, fields: object) {
    this.id = id;
    this.fields = fields;
  }

  get path(): string {
    return `/v1/conversations/${encodeURIComponent(this.id)}`;
  }

  /** A turn with a large output, and a question. */
  async turn(at: Deployment, asked?: string): Promise<void> {
    const n = ++this.turns;
    const first = [
      user(`Read file ${n}.`),
      ...step(`call_${this.id}_${n}`, 'read_file', lines(120, `${this.id} ${n}`)),
    ];
    await this.send(at, first);
    this.messages.push(assistant(`It is file ${n}.`));
    await this.send(at, [user(asked ?? lines(30, `question ${n} of ${this.id}`))]);
    // Kept rounds are found by the answer that they led to.
    this.messages.push(assistant(DEFAULT_ANSWER.content));
  }

  /** @returns the bytes that were sent last */
  async send(at: Deployment, more: readonly Message[]): Promise<string> {
    this.messages.push(...more);
    const { messages, fields } = this;
    const response = await at.chat({
      model: 'gpt-4.1',
      tools,
      conversation_id: this.id,
      ...fields,
      messages,
    });
    expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
    return at.lastChat().rawBody.toString();
  }

  async upToDate(at: Deployment): Promise<void> {
    const flush = () => at.fetch(`${this.path}/memory/flush`, { method: 'POST', headers: this.headers });
    await until('the memory is up to date', async () => [200, 404].includes((await flush()).status));
  }

  get headers(): Record<string, string> {
    const { user: name } = this.fields as { user?: string };
    return name === undefined ? {} : { 'x-memory-user': name };
  }

  /** The same array, sent to another deployment. */
  copy(): Kept {
    const copy = new Kept(this.id, this.fields);
    copy.messages.splice(0, 1, ...this.messages);
    copy.turns = this.turns;
    return copy;
  }
}

const strategies: Readonly<Record<string, object>> = {
  none: { memory_strategy: 'none' },
  compact: { memory_strategy: { mode: 'compact', compact_trigger_turns: 2, compact_keep: 1 } },
  trim: { memory_strategy: { mode: 'trim', max_turns: 4, keep_last_n_turns: 2 } },
  summarize: {
    memory_strategy: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1, archive: true },
    user: USER,
    memory_injection: true,
  },
  'rolling summary': { memory_strategy: { mode: 'rolling_summary', full_zone_turns: 0, retry_attempts: 0 } },
  auto: {
    memory_strategy: {
      mode: 'auto',
      token_budget: 6_000,
      offload_fresh_tokens: 1_000,
      offload_digest: 'model',
    },
  },
  'with blocks': {
    memory_strategy: { mode: 'compact', compact_trigger_turns: 2, compact_keep: 1 },
    memory_blocks: ['team'],
  },
  'with rounds': {
    memory_strategy: {
      mode: 'compact',
      compact_trigger_turns: 2,
      compact_keep: 1,
      compact_retrieval: 'tool',
    },
  },
};

const conversations = Object.entries(strategies).map(([name, fields]) => new Kept(`kept ${name}`, fields));
/** Its conversation is named by its first messages. */
const unnamed = new Kept('of no name', {
  memory_strategy: { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 },
  conversation_id: undefined,
});
const file = join(folder, 'all.precis');

beforeAll(async () => {
  await home.fetch('/v1/blocks/team', { method: 'PUT', body: JSON.stringify({ text: 'Ann leads.' }) });
  for (const one of [...conversations, unnamed]) {
    for (let n = 1; n <= 5; n++) {
      await one.turn(home, n === 4 ? RETRIEVAL : undefined);
      await one.upToDate(home);
    }
  }
  const settings = { method: 'PATCH', body: { memory_strategy: { mode: 'compact', compact_keep: 2 } } };
  await settingsOf(home)('settings alone', settings);
  await home.fetch('/v1/blocks/team', { method: 'PUT', body: JSON.stringify({ text: 'Bob leads.' }) });
}, 300_000);

/** What a route says of a conversation. */
async function textOf(at: Deployment, path: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await at.fetch(path, { headers });
  return `${response.status} ${await response.text()}`;
}

describe('a backup of all callers', () => {
  it('is made as one file, which shows no contents', async () => {
    const { code, said } = await precis(home, ['backup', file]);
    expect([code, said]).toEqual([0, expect.stringContaining(file)]);
    const bytes = readFileSync(file, 'latin1');
    for (const words of [
      'question',
      'Bob leads',
      ...conversations.map(({ id }) => id),
      USER,
      'summary number',
      KEY,
      SECRET,
      'conversation',
    ])
      expect(bytes.includes(words), words).toBe(false);
  });

  it('is put back into an empty deployment, which says how much', async () => {
    const { code, said } = await precis(away, ['restore', file]);
    expect([code, said]).toEqual([0, expect.stringMatching(/^records of callers +2 restored$/m)]);
    expect(said).toMatch(new RegExp(`^conversations +${conversations.length + 2} restored$`, 'm'));
    expect(said).toMatch(/^users +1 restored$/m);
    expect(said).toMatch(/^refs +\d+ restored$/m);
    expect(said).not.toMatch(/kept|left out/);
  });

  it('gives the same refs', async () => {
    const list = await textOf(home, '/v1/refs?limit=1000');
    expect(await textOf(away, '/v1/refs?limit=1000')).toBe(list);
    const { data } = JSON.parse(list.slice(4)) as { data: { id: string }[] };
    expect(data.length).toBeGreaterThan(10);
    for (const { id } of data)
      expect(await textOf(away, `/v1/refs/${id}`)).toBe(await textOf(home, `/v1/refs/${id}`));
  });

  const summed = '/v1/conversations/kept%20summarize';
  it.each<[path: string, headers?: Record<string, string>]>([
    ...conversations.flatMap(({ path, headers }): [string, Record<string, string>][] => [
      [`${path}/requests`, headers],
      [`${path}/requests/3`, headers],
    ]),
    ['/v1/conversations/kept%20rolling%20summary/memory'],
    ['/v1/conversations/settings%20alone/memory'],
    ...['memory', 'messages', 'messages?q=question'].map((what): [string, Record<string, string>] => [
      `${summed}/${what}`,
      { 'x-memory-user': USER },
    ]),
    ['/v1/blocks/team'],
    ['/v1/blocks/team?version=1'],
    [`/v1/users/${encodeURIComponent(USER)}/memory`],
    ['/v1/stats'],
    ['/v1/stats?days=1'],
  ])('answers the same: %s', async (path, headers) => {
    const said = await textOf(home, path, headers);
    expect(said).toMatch(/^200 /);
    expect(await textOf(away, path, headers)).toBe(said);
  });

  it.each([...conversations, unnamed].map((one) => [one.id, one] as const))(
    'sends the same bytes up, and goes on to: %s',
    async (_, here) => {
      const there = here.copy();
      for (let n = 6; n <= 8; n++) {
        const asked = [user(lines(30, `question ${n}`))];
        summarizer.say(`What both say of ${n}.`);
        const sent = await here.send(home, asked);
        await here.upToDate(home);
        summarizer.say(`What both say of ${n}.`);
        expect(await there.send(away, asked)).toBe(sent);
        await there.upToDate(away);
        here.messages.push(assistant('Yes.'));
        there.messages.push(assistant('Yes.'));
      }
    },
  );

  it('shows summaries, placeholders, kept rounds, blocks and digests there', async () => {
    const views: string[] = [];
    for (const one of conversations) views.push(await one.copy().send(away, [user('And now?')]));
    for (const words of ['summary number', '⟦removed', 'retrieve_ref', 'leads.', 'call_of_the_model'])
      expect([words, views.some((view) => view.includes(words))]).toEqual([words, true]);
  });
});

describe('a backup that has stopped', () => {
  const path = join(folder, 'stopped.precis');

  it('is not restored, and says how to finish it', async () => {
    const bytes = readFileSync(file);
    let end = 0;
    // Records up to the first `N`, and a part of the next one.
    for (let kind = ''; kind !== 'N'; ) {
      kind = String.fromCharCode(bytes.readUInt8(end));
      end += 9 + bytes.readUInt32BE(end + 1) + bytes.readUInt32BE(end + 5);
    }
    expect(end).toBeLessThan(bytes.length - 100);
    writeFileSync(path, bytes.subarray(0, end));
    const { code, said } = await precis(away, ['restore', path]);
    expect([code, said]).toEqual([
      2,
      expect.stringContaining('is not finished: run precis backup with it again'),
    ]);
    writeFileSync(path, bytes.subarray(0, end + 100));
  });

  it('goes on where it stopped, and is whole then', async () => {
    const begun = readFileSync(path);
    expect((await precis(home, ['backup', path])).code).toBe(0);
    const whole = readFileSync(path);
    expect(whole.length).toBeGreaterThan(begun.length);
    expect(whole.subarray(0, begun.length - 100)).toEqual(begun.subarray(0, begun.length - 100));
    const { code, said } = await precis(away, ['restore', path]);
    expect([code, said]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^conversations +${conversations.length + 2} kept`, 'm')),
    ]);
  });

  it('is not written over once it is finished', async () => {
    const { code, said } = await precis(home, ['backup', path]);
    expect([code, said]).toEqual([2, expect.stringContaining('is a finished backup. Choose another file.')]);
  });
});

describe('a backup of one caller', () => {
  it('takes the name by which its operator sees it', async () => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const { data } = (await (await home.fetch('/v1/admin/callers', { headers })).json()) as {
      data: { name: string }[];
    };
    const path = join(folder, 'one.precis');
    const { code, said } = await precis(home, ['backup', path, '--caller', data[0]?.name ?? '']);
    expect([code, said]).toEqual([0, expect.stringContaining(`${path}: `)]);
  });

  it('is refused where nobody is known by the name', async () => {
    const path = join(folder, 'nobody.precis');
    const { code, said } = await precis(home, ['backup', path, '--caller', 'nobody']);
    expect([code, said]).toEqual([1, expect.stringContaining('caller is a name of ACCESS_KEYS')]);
    expect(() => readFileSync(path)).toThrow('ENOENT');
  });
});

describe('a backup of a caller of whom nothing is stored', () => {
  const shared = deploy({
    vars: { ADMIN_TOKEN, ACCESS_KEYS: 'ann=an-access-key-0123456789', UPSTREAM_API_KEY: 'sk-shared' },
  });

  it.each(['nobody', 'ann'])('is no file, and says so: %s', async (name) => {
    const path = join(folder, `${name}.precis`);
    const { code, said } = await precis(shared, ['backup', path, '--caller', name]);
    expect([code, said]).toEqual([1, expect.stringContaining(`Nothing is stored of a caller ${name}`)]);
    expect(existsSync(path)).toBe(false);
  });
});

describe('a file that is not whole', () => {
  const changed = (name: string, change: (bytes: Buffer) => Buffer): string => {
    const path = join(folder, name);
    writeFileSync(path, change(Buffer.from(readFileSync(file))));
    return path;
  };

  it.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ['cut off', (bytes) => bytes.subarray(0, bytes.length - 40), /truncated or damaged/],
    [
      'changed in a byte',
      (bytes) => bytes.map((byte, at) => (at === 5_000 ? byte ^ 1 : byte)) as Buffer,
      /was changed/,
    ],
    ['none of ours', () => Buffer.from('{"messages":[]}'), /not a backup of Precis/],
    ['empty', () => Buffer.alloc(0), /not a backup of Precis/],
  ])('is refused before anything is restored: %s', async (name, change, words) => {
    const { code, said } = await precis(away, ['restore', changed(name, change)]);
    expect(code).not.toBe(0);
    expect(said).toMatch(words);
    expect(said).toContain('Nothing was restored.');
  });
});

describe('a deployment with another secret', () => {
  const stranger = deploy({ vars: { ADMIN_TOKEN, PRECIS_SECRET: 'the secret of another deployment' } });
  const successor = deploy({
    vars: { ADMIN_TOKEN, PRECIS_SECRET: 'the secret of another deployment', PRECIS_SECRET_PREVIOUS: SECRET },
  });

  it('learns it, and restores nothing', async () => {
    const { code, said } = await precis(stranger, ['restore', file]);
    expect([code, said]).toEqual([1, expect.stringContaining('sealed under another PRECIS_SECRET')]);
    expect(said).toContain('Nothing was restored.');
  });

  it('restores it if that was its secret before, and reads what a rotation reads', async () => {
    expect((await precis(successor, ['restore', file])).code).toBe(0);
    const [one] = conversations.filter(({ id }) => id === 'kept summarize');
    const path = `${one?.path}/messages`;
    expect(await textOf(successor, path, one?.headers)).toMatch(/^200 .*question/);
  });
});
