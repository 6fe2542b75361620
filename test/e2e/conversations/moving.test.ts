/** A conversation that is taken from one deployment with GET, and put into another with PUT. */
import { describe, expect, it } from 'vitest';
import { settingsOf, statuses } from '../../support/deployment/conversation-settings.ts';
import { type Deployment, deploy } from '../../support/deployment/deployment.ts';
import { until } from '../../support/deployment/polling.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import {
  question,
  type Said,
  startRollingSummarizer,
  Talk,
} from '../../support/deployment/rolling-summarizer.ts';

const summarizer = await startRollingSummarizer();

const home = deploy({ vars: summarizer.vars });
const away = deploy({ vars: { ...summarizer.vars, PRECIS_SECRET: 'the secret of another deployment' } });

const OTHER_KEY = { authorization: 'Bearer sk-the-key-of-another-caller-0002' };
const REF = /ref_[a-z2-7]{26}/g;

const SUMMARIZE = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 1 };
const ROLLING = { mode: 'rolling_summary', full_zone_turns: 0, retry_attempts: 0 };
const MODES = [SUMMARIZE, ROLLING];

// biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
type State = any;

let named = 0;
const newId = () => `moved ${++named}`;

const get = async (deployment: Deployment, id: string): Promise<State> =>
  (await settingsOf(deployment)(id)).json();
const put = (deployment: Deployment, id: string, body: unknown, call = {}) =>
  settingsOf(deployment)(id, { method: 'PUT', body, ...call });

/** Waits until nothing is being made, and gives what is kept. */
async function upToDate(deployment: Deployment, id: string): Promise<State> {
  const flush = () =>
    deployment.fetch(`/v1/conversations/${encodeURIComponent(id)}/memory/flush`, { method: 'POST' });
  await until('the memory is up to date', async () => (await flush()).status === 200);
  return get(deployment, id);
}

/** A conversation of five rounds at home, with what is kept of it. */
async function fiveRounds(strategy: object) {
  const id = newId();
  await settingsOf(home)(id, { method: 'PATCH', body: strategy });
  const to = new Talk(home, { conversation_id: id });
  for (let n = 1; n <= 5; n++) {
    await to.ask(question(n));
    await upToDate(home, id);
  }
  return { id, to, state: await get(home, id) };
}

/** The same caller, who sends its array to the other deployment from here on. */
function moved(to: Talk): Talk {
  const there = new Talk(away, to.fields);
  there.messages.splice(0, 1, ...to.messages);
  return there;
}

/** The view's bytes without the refs, which each deployment names by its own secret. */
const viewOf = ({ view }: Said) => JSON.stringify(view).replace(REF, 'ref');
const outcomeOf = ({ response }: Said) =>
  ['mode', 'source', 'applied', 'trigger', 'frontier', 'warning'].map((name) =>
    response.headers.get(`x-memory-${name}`),
  );

/** What a PUT keeps of a state: the settings, and the newest text. */
function keptOf(state: State): State {
  const [newest] = state.memories;
  const { generation_time_ms: ms } = newest;
  const stats = { avg_ms: ms, max_ms: ms, total_summaries: 1 };
  return { ...state, memories: [newest], rounds: [], stats };
}

/** The same under another key or secret. */
const withoutTranscripts = (state: State) => ({
  ...state,
  memories: state.memories.map((memory: object) => ({
    ...memory,
    ref: null,
    transcript_from: '',
    transcript_earlier: null,
  })),
});

overProtocols('a conversation that moves to another deployment', [home, away], () => {
  it.each(MODES)('continues with its memory there: $mode', async (strategy) => {
    const { id, to, state } = await fiveRounds(strategy);
    const there = moved(to);

    const response = await put(away, id, state);
    const kept = await get(away, id);
    summarizer.requests.length = 0;
    const here = await to.ask(question(6));
    await upToDate(home, id);
    const callsHere = summarizer.requests.splice(0);
    const first = await there.ask(question(6));
    await upToDate(away, id);
    const callsThere = summarizer.requests.splice(0);

    expect(response.status).toBe(200);
    expect(kept).toEqual(await response.json());
    // The secret of the other deployment names other refs.
    expect(kept).toEqual(withoutTranscripts(keptOf(state)));
    expect(state.memories.some(({ ref }: { ref: string | null }) => ref !== null)).toBe(true);
    expect(viewOf(first)).toBe(viewOf(here));
    expect(JSON.stringify(first.view)).toContain('summary number');
    expect(outcomeOf(first)).toEqual(outcomeOf(here));
    expect(first.memory.summary?.memory_id).toBe(here.memory.summary?.memory_id);
    expect(callsThere).toHaveLength(callsHere.length);
    expect(callsHere).toHaveLength(strategy === SUMMARIZE ? 0 : 1);
  });

  it.each(MODES)('has a transcript there that can be fetched: $mode', async (strategy) => {
    const { id, to, state } = await fiveRounds(strategy);
    await put(away, id, state);

    const { view } = await moved(to).ask(question(6));

    const [ref = ''] = JSON.stringify(view).match(REF) ?? [];
    const transcript = await away.fetch(`/v1/refs/${ref}`);
    expect(transcript.status).toBe(200);
    expect(await transcript.text()).toContain('Question 1:');
    expect((await home.fetch(`/v1/refs/${ref}`)).status).toBe(404);
  });

  it.each(MODES)('has its next summary built on the one that came: $mode', async (strategy) => {
    const { id, to, state } = await fiveRounds(strategy);
    const there = moved(to);
    await put(away, id, state);
    summarizer.requests.length = 0;

    for (let n = 6; n <= 8; n++) {
      await there.ask(question(n));
      await upToDate(away, id);
    }

    const [first = ''] = summarizer.prompts();
    const newest = /summary number \d+/.exec(state.conversation_memory)?.[0] ?? 'none';
    expect(first).toContain(newest);
    expect(first).not.toContain('Question 1:');
    const { memories } = await get(away, id);
    expect(Math.max(...memories.map(({ memory_id }: { memory_id: number }) => memory_id))).toBeGreaterThan(
      state.memories[0].memory_id,
    );
  });
});

describe('PUT /v1/conversations/{id}/memory', () => {
  it('keeps settings and the newest text of what was there, and changes nothing when it is repeated', async () => {
    const { id, to, state } = await fiveRounds(ROLLING);
    await to.ask(question(6));
    await upToDate(home, id);
    expect(await get(home, id)).not.toEqual(state);

    const put1 = await put(home, id, { ...state, up_to_date: true, conversation_memory: 'another' });
    const kept = await get(home, id);
    const put2 = await put(home, id, kept);

    expect(kept).toEqual(keptOf(state));
    expect([await put1.json(), await put2.json(), await get(home, id)]).toEqual([kept, kept, kept]);
  });

  it('takes away at once what the isolate remembers', async () => {
    const { id, to, state } = await fiveRounds(SUMMARIZE);
    const [memory] = state.memories;
    const words = 'The text that somebody has mended.';
    const mended = { ...memory, memory_text: memory.memory_text.replace(/This is summary.*/, words) };

    await put(home, id, { ...state, memories: [mended] });

    expect(JSON.stringify((await to.ask(question(6))).view)).toContain(words);
  });

  it('makes a conversation that is not known, of one user, also below an agent', async () => {
    const { state } = await fiveRounds(SUMMARIZE);
    const id = newId();
    const path = `/agents/coding/v1/conversations/${encodeURIComponent(id)}/memory`;
    const at = (query: string, init: RequestInit = {}) => away.fetch(`${path}${query}`, init);
    const body = JSON.stringify({ ...state, id });

    const made = await at('?user=ann', { method: 'PUT', body });

    expect(made.status).toBe(200);
    expect(await (await at('?user=ann')).json()).toEqual(withoutTranscripts(keptOf({ ...state, id })));
    expect(statuses(await at(''), await at('?user=bob'))).toEqual([404, 404]);
    const list = (await (await away.fetch('/v1/conversations?limit=100')).json()) as { data: State[] };
    expect(list.data).toContainEqual(expect.objectContaining({ id, user: 'ann', versions: 1 }));
    const gone = await at('?user=ann', { method: 'DELETE' });
    expect(statuses(gone, await at('?user=ann'))).toEqual([200, 404]);
  });

  it("touches no other key's conversation, and takes none of its transcripts", async () => {
    const { id, state } = await fiveRounds(SUMMARIZE);
    const [{ ref }] = state.memories;

    const response = await put(home, id, { ...state, memory_strategy: null }, { headers: OTHER_KEY });

    const expected = withoutTranscripts(keptOf({ ...state, memory_strategy: null }));
    expect(await response.json()).toEqual(expected);
    expect(await get(home, id)).toEqual(state);
    const gone = await settingsOf(home)(id, { method: 'DELETE', headers: OTHER_KEY });
    expect(gone.status).toBe(200);
    expect((await home.fetch(`/v1/refs/${ref}`)).status).toBe(200);
    expect(await get(home, id)).toEqual(state);
  });

  it('needs a key that the upstream accepts', async () => {
    const headers = { authorization: 'Bearer sk-invalid-key-that-was-invented' };
    const short = { authorization: 'Bearer nineteen-characters' };
    const body = { memory_strategy: null, memory_injection: null, memories: [] };

    const responses = [
      await put(home, newId(), body, { headers }),
      await put(home, newId(), body, { headers: short }),
    ];

    expect(statuses(...responses)).toEqual([401, 401]);
  });

  it('refuses what GET has not answered, and keeps what was there', async () => {
    const { id, state } = await fiveRounds(SUMMARIZE);
    const nested = `"memory_strategy":${'['.repeat(1e5)}${']'.repeat(1e5)}`;
    const long = { mode: 'compact', compact_exclude_tools: Array(99).fill('x'.repeat(700)) };
    const unoffered = { mode: 'rolling_summary', summarizer_model: 'gpt-9' };
    const strategy = (memory_strategy: unknown) => ({ ...state, memory_strategy });
    const tooLong = 'The request body must have at most 8,388,608 bytes, also when decoded.';
    const cases: [body: unknown, status: number, error: object][] = [
      ['[]', 400, { code: 'invalid_json', param: null }],
      ['{', 400, { code: 'invalid_json', param: null }],
      [
        JSON.stringify(state).replace('{', '{"health":"retry",'),
        400,
        { code: 'invalid_json', param: 'health' },
      ],
      [JSON.stringify(strategy(0)).replace('"memory_strategy":0', nested), 400, { code: 'invalid_json' }],
      [{ ...state, memories: Array(2e5).fill({}) }, 400, { code: 'invalid_value', param: 'memories' }],
      [strategy({ mode: 'trim', max_turn: 3 }), 400, { param: 'memory_strategy.max_turn' }],
      [strategy(unoffered), 400, { param: 'memory_strategy.summarizer_model' }],
      [{ ...state, memory_injection: { tokens: 3 } }, 400, { param: 'memory_injection' }],
      [strategy(long), 400, { code: 'invalid_value', param: 'memory_strategy' }],
      [{ ...state, id: 'another' }, 400, { code: 'invalid_value', param: 'id' }],
      [{ ...state, conversation_memory: 'x'.repeat(8 * 1024 * 1024) }, 413, { message: tooLong }],
    ];
    for (const [body, status, error] of cases) {
      const response = await put(home, id, body);
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', ...error } });
    }
    expect(await get(home, id)).toEqual(state);
  });
});
