/** What mode auto does when storage fails: real requests over a real bucket and real objects. */
import { beforeEach, describe, expect, it } from 'vitest';
import { violations } from '../../../tools/upstream/strict-chat.ts';
import {
  assistant,
  body,
  calls,
  lines,
  result,
  step,
  system,
  user,
} from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { shorten } from '../../support/time-limits.ts';
import { hang, type Operation, refsIn, SUMMARIZER, start, startApp, watchedBucket } from '../support.ts';

beforeEach(quiet);

const AUTO = { mode: 'auto', min_reclaim_tokens: 0, summary_max_tokens: 400 };
/** Five of the questions of `start` fit. */
const TALK = { ...AUTO, token_budget: 2_500, keep_last_n_turns: 1 };

let made = 0;

/**
 * A run that no other test has sent: one output is offloaded, one is a repeat, and others are
 * compacted.
 */
function run(steps = 9): object {
  const own = made++;
  const all = Array.from({ length: steps }, (_, index) => {
    const output = index === 2 ? lines(1_200, `${own} large`) : lines(90, `${own} ${index % 4}`);
    const id = `call_${index}`;
    return [calls([id, 'search', `{"page":${index}}`]), result(id, output)];
  });
  const memory_strategy = { ...AUTO, token_soft_budget: 5_000 };
  return body([system('You search.'), user('Go.'), ...all.flat()], { memory_strategy });
}

/** The body of the last request to the upstream. */
function viewOf({ sent }: ReturnType<typeof startApp>): string {
  return sent.filter(({ url }) => url === 'http://upstream.test/v1/chat/completions').at(-1)?.body ?? '';
}

async function expectFetchable(app: ReturnType<typeof startApp>): Promise<string[]> {
  const refs = refsIn(viewOf(app));
  for (const ref of refs) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(200);
  return refs;
}

function withoutStrategy(of: object): object {
  return Object.fromEntries(Object.entries(of).filter(([name]) => name !== 'memory_strategy'));
}

describe('a bucket that works', () => {
  it('keeps all that is removed, and any isolate finds the same view with one look', async () => {
    const watched = watchedBucket();
    const request = run();
    const first = startApp(watched.bucket);
    const { headers } = await first.chat(request);
    const before = watched.operations.length;
    const second = startApp(watched.bucket);
    await second.chat(request);
    const looks = watched.operations.slice(before).filter(({ name }) => name !== 'put');

    expect(headers.get('x-memory-applied')).toBe('offload,dedupe,compact');
    expect(headers.get('x-memory-warning')).toBeNull();
    expect((await expectFetchable(first)).length).toBeGreaterThan(3);
    expect(viewOf(second)).toBe(viewOf(first));
    expect(looks.map(({ name }) => name)).toEqual(['head']);
  });
});

describe('a bucket that fails', () => {
  const CASES: [string, Operation[]][] = [
    ['puts', ['put']],
    ['looks', ['get', 'head', 'list']],
    ['everything', ['put', 'get', 'head', 'list', 'delete']],
  ];

  it.each(CASES)(
    'at %s has contents stay in full, and no ref is named that can’t be fetched',
    async (_, operations) => {
      const watched = watchedBucket();
      const app = startApp(watched.bucket);
      for (const operation of operations) watched.failing.add(operation);
      const request = run();

      const response = await app.chat(request);

      expect(response.status).toBe(200);
      expect(violations(JSON.parse(viewOf(app)))).toEqual([]);
      watched.failing.clear();
      const named = await expectFetchable(app);
      expect(response.headers.get('x-memory-refs')).toBe(String(named.length));
      if (named.length > 0) return;
      expect(viewOf(app)).toBe(JSON.stringify(withoutStrategy(request)));
      expect(response.headers.get('x-memory-warning')).toBe('store_failed');
      expect(response.headers.get('x-memory-applied')).toBe('none');
      expect(response.headers.get('x-memory-tokens-after')).toBe(
        response.headers.get('x-memory-tokens-before'),
      );
    },
  );

  it('by never answering is waited for a moment, and no longer', async () => {
    const watched = watchedBucket();
    hang(watched, 'put', 'get', 'head');
    const app = startApp(watched.bucket);

    const response = await app.chat(run());

    expect(response.headers.get('x-memory-warning')).toBe('store_failed');
    expect(refsIn(viewOf(app))).toEqual([]);
    expect(violations(JSON.parse(viewOf(app)))).toEqual([]);
  });

  it('is made up for when it works again', async () => {
    const watched = watchedBucket();
    const app = startApp(watched.bucket);
    const request = run();
    watched.failing.add('put').add('head');
    await app.chat(request);
    watched.failing.clear();

    const response = await app.chat(request);

    expect(response.headers.get('x-memory-warning')).toBeNull();
    expect(response.headers.get('x-memory-applied')).toBe('offload,dedupe,compact');
    await expectFetchable(app);
  });

  it('leaves a summary without a ref, with a warning', async () => {
    const { watched, ask, rounds, expectFetchable } = start(TALK);
    await rounds(1, 4);
    watched.failing.add('put').add('head');

    const { response, view, warning } = await ask(5);

    expect(response.status).toBe(200);
    expect(warning?.split(',')).toContain('store_failed');
    expect(view).toContain('of Question 1: Question 2:');
    expect(view).toContain('<session_summary covers=');
    expect(violations(JSON.parse(view))).toEqual([]);
    watched.failing.clear();
    expect(await expectFetchable(view)).toBe(0);
  });

  it('leaves the outputs after a summary without refs, and they are there all the same', async () => {
    const { app, watched } = start(undefined);
    const steps = Array.from({ length: 40 }, (_, at) => [
      calls([`call_${at}`, 'read_file', `{"path":"${made}/${at}.ts"}`]),
      result(`call_${at}`, lines(30, `file ${at}`)),
      assistant(lines(12, `thought ${at}`)),
      user(`Go on with ${at}.`),
    ]).flat();
    const memory_strategy = { ...TALK, token_budget: 6_000, compact_min_tokens: 50, rehydrate: true };
    const request = body([user('Go.'), ...steps], { memory_strategy });
    watched.failing.add('put').add('head');
    const response = await app.chat(request);
    const without = viewOf(app);
    watched.failing.clear();

    expect(response.status).toBe(200);
    expect(response.headers.get('x-memory-warning')).toContain('store_failed');
    expect(without).toMatch(/<rehydrated_output tool=\\"read_file\\" call_id=\\"call_\d+\\" path='[^']+'>/);
    expect(violations(JSON.parse(without))).toEqual([]);
    expect(await expectFetchable(app)).toEqual([]);

    const { app: sound } = start(undefined);
    await sound.chat(request);
    expect(viewOf(sound)).toMatch(/<rehydrated_output [^>]* ref=\\"ref_/);
    expect((await expectFetchable(sound)).length).toBeGreaterThan(1);
  });

  it('trims nothing that could not be fetched', async () => {
    const { watched, rounds, ask, messages } = start({ ...TALK, token_budget: 1_800 });
    watched.failing.add('put').add('head');
    const all = [...(await rounds(1, 9)), await ask(10)];

    for (const { response, view } of all) {
      expect(response.status).toBe(200);
      expect(view).not.toContain('reason=trimmed');
      expect(violations(JSON.parse(view))).toEqual([]);
    }
    expect(messages.length).toBeGreaterThan(18);
  });

  it('has a summarizer read no ref that can’t be fetched', async () => {
    const { app, watched, summarizerCalls } = start(undefined);
    const steps = Array.from({ length: 8 }, (_, at) => [
      ...step(`call_${at}`, 'search', lines(90, `kept ${at}`)),
      { role: 'assistant', content: lines(40, `thoughts ${at}`) },
      user(`Go on with ${at}.`),
    ]).flat();
    watched.failing.add('put').add('head');

    await app.chat(body([user('Go.'), ...steps], { memory_strategy: { ...TALK, token_budget: 3_000 } }));

    watched.failing.clear();
    const read = summarizerCalls().map((call) => call.body);
    expect(read.length).toBeGreaterThan(0);
    for (const ref of refsIn(read.join())) expect((await app.request(`/v1/refs/${ref}`)).status).toBe(200);
  });
});

describe('an object that fails', () => {
  const ALL = ['text', 'versions.find', 'state.settings', 'versions.keepDigest'];

  it('at everything leaves mode auto its digest, with a warning, once', async () => {
    const { objects, ask, rounds, summarizerCalls } = start({ ...TALK, keep_first_user: false });
    await rounds(1, 4);
    for (const method of ALL) objects.failing.add(method);

    const { response, view, warning } = await ask(5);

    expect(response.status).toBe(200);
    expect(warning?.split(',').toSorted()).toEqual(['store_failed', 'summary_degraded']);
    expect(view).toContain('<session_summary');
    expect(view).toContain('Question 1: what follows?');
    expect(view).not.toContain('question 1, line 20');
    expect(violations(JSON.parse(view))).toEqual([]);
    expect(summarizerCalls()).toEqual([]);
  });

  it('at texts alone has the request served all the same', async () => {
    const { objects, ask, rounds, expectFetchable } = start(TALK);
    await rounds(1, 4);
    objects.failing.add('text');

    const { response, view, warning } = await ask(5, {}, false);

    expect(response.status).toBe(200);
    expect(warning).toContain('store_failed');
    expect(view).toContain('<session_summary');
    await expectFetchable(view);
  });

  it('after answers alone has nothing prepared: the request that needs the summary has it made', async () => {
    const { app, objects, rounds } = start(TALK);
    const { words } = app.answer;
    app.answer.words = (sent) => {
      // Of a request's own texts, all are asked for before its body is sent.
      if (!sent.url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL)) objects.failing.add('text');
      return words?.(sent) ?? '';
    };
    const all = [];
    for (let n = 1; n <= 14; n++) {
      objects.failing.clear();
      all.push(...(await rounds(n, n)));
    }

    expect(all.map(({ response }) => response.status)).toEqual(all.map(() => 200));
    const summarized = all.filter(({ view }) => view.includes('<session_summary'));
    expect(summarized.length).toBeGreaterThan(4);
    for (const { warning } of all) expect(warning ?? '').not.toMatch(/summary|store/);
  });

  it('by never answering leaves the digest, too', async () => {
    const { objects, ask, rounds } = start(TALK);
    await rounds(1, 4);
    for (const method of ['text', 'versions.find']) objects.hanging.add(method);
    shorten({ objectCallMs: 500 });

    const { response, view, warning } = await ask(5, {}, false);

    expect(response.status).toBe(200);
    expect(warning?.split(',').toSorted()).toEqual(['store_failed', 'summary_degraded']);
    expect(view).toContain('<session_summary');
  });
});

describe('an object that is evicted between any two requests', () => {
  it('gives the same views as one that stays awake', async () => {
    const awake = start(TALK);
    const stayed = await awake.rounds(1, 12);
    const asleep = start(TALK);
    const evicted = [];
    for (let n = 1; n <= 12; n++) {
      evicted.push(await asleep.ask(n));
      await asleep.objects.evict();
    }

    expect(evicted.map(({ view }) => view)).toEqual(stayed.map(({ view }) => view));
    expect(stayed.at(-1)?.response.headers.get('x-memory-applied')).toContain('summarize');
  });
});

describe('a key that the upstream refuses', () => {
  it('leaves nothing stored, and costs no summary', async () => {
    const { app, ask, messages, overview, summarizerCalls, watched } = start(TALK, { VERIFY_KEYS: 'true' });
    app.answer.status = 401;
    app.answer.modelsStatus = 401;
    for (let n = 1; n <= 6; n++) {
      const { response } = await ask(n);
      expect(response.status).toBe(401);
      messages.push({ role: 'assistant', content: 'This is an answer that was never given.' });
    }

    expect(summarizerCalls()).toEqual([]);
    expect((await overview()).memories).toEqual([]);
    expect(watched.operations.filter(({ name }) => name === 'put')).toEqual([]);
  });
});
