/** The traces of summaries in rows, logs and requests, and the key that they are made with. */
import { runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { Env } from '../../../src/config.ts';
import { createLog } from '../../../src/log.ts';
import { writeSections } from '../../../src/summary/text/headings.ts';
import { assistant } from '../../support/conversations/chat.ts';
import { loggedLines } from '../../support/quiet.ts';
import { KEY, MODES, ROLLING, SUMMARIZE, SUMMARIZER, start } from '../support.ts';

const logged = loggedLines();

describe('a key that the upstream refuses', () => {
  it.each(MODES)('leaves no row and costs no summary, in mode %s', async (_, strategy) => {
    const { app, rounds, overview, summarizerCalls, watched, messages } = start(strategy, {
      VERIFY_KEYS: 'true',
    });
    app.answer.modelsStatus = 401;
    app.answer.status = 401;
    for (let n = 1; n <= 5; n++) {
      const [refused] = await rounds(n, n);
      expect(refused?.response.status).toBe(401);
      messages.push(assistant('This is an answer that was never given.'));
    }

    expect((await overview()).exists).toBe(false);
    expect(summarizerCalls()).toEqual([]);
    expect(watched.operations.filter(({ name }) => name === 'put')).toEqual([]);
  });

  it('can’t freeze cross-session memory either', async () => {
    const { app, ask, overview } = start(undefined, { VERIFY_KEYS: 'true' });
    app.answer.modelsStatus = 401;
    app.answer.status = 401;

    const { response } = await ask(1, { memory_injection: true, user: 'ann' });

    expect(response.status).toBe(401);
    expect((await overview()).exists).toBe(false);
  });
});

describe('the log of a summary', () => {
  /** All but the line about each request. */
  const sentences = () =>
    logged
      .filter(({ message }) => message !== 'a request was answered')
      .map(
        ({ level, message }) =>
          `${level} ${message.replace(/\d+ms/, '_ms').replace(/\b[0-9a-f]{16}\b/, '_id')}`,
      );

  it('states what was summarized, dropped and already there', async () => {
    const { rounds, stub } = start({ ...ROLLING, rolling_window_size: 6 });
    await runInDurableObject(stub, (memory) => Reflect.set(memory, 'log', createLog('debug')));

    await rounds(1, 4);

    expect(sentences()).toEqual([
      'debug Memory 1 status updated to processing',
      'info Summarized messages 0-5 for _id in _ms',
      'debug Memory 1 status updated to completed',
      'debug Memory 2 status updated to processing',
      'info Summarized messages 2-7 for _id in _ms',
      'info Sliding window: dropping seq 0-1 for _id',
      'debug Memory 2 status updated to completed',
    ]);
  });

  it('says when there is nothing new', async () => {
    const { rounds, messages, ask, stub } = start(ROLLING);
    await runInDurableObject(stub, (memory) => Reflect.set(memory, 'log', createLog('debug')));
    await rounds(1, 4);
    messages.splice(-2);
    logged.length = 0;

    await ask(4);

    expect(sentences()).toEqual(['debug No new messages to summarize for _id']);
  });

  it('reports a summary in front of a request too', async () => {
    const { rounds } = start(SUMMARIZE);

    await rounds(1, 4);

    expect(sentences()).toEqual(['info Summarized messages 0-5 for _id in _ms']);
  });

  it.each(MODES)(
    'names the error by which the summarizer was out of reach, in mode %s',
    async (_, strategy) => {
      const { app, id, rounds } = start(strategy);
      app.answer.words = ({ url }) => {
        if (url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL)) throw new TypeError('no route to what it holds');
        return 'This is the answer.';
      };

      await rounds(1, 5);

      const message = 'a summary could not be made';
      const fault = { level: 'warn', message, code: 'unreachable', error: 'TypeError' };
      expect(logged).toContainEqual({ ...fault, conversation: expect.stringMatching(/^[0-9a-f]{16}$/) });
      expect(JSON.stringify(logged)).not.toContain(id);
      expect(JSON.stringify(logged)).not.toContain('no route');
    },
  );

  it.each(MODES)('and the rows hold no key and no content, in mode %s', async (_, strategy) => {
    const { app, rounds, objects, stub } = start(strategy);
    await rounds(1, 5);
    app.answer.status = 500;
    await rounds(6, 7);
    objects.failing.add('text').add('versions.find');
    await rounds(8, 8);

    const rows = await runInDurableObject(stub, (_memory, { storage }) =>
      JSON.stringify(
        ['memories', 'state', 'pins'].map((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray()),
      ),
    );
    const log = JSON.stringify(logged);
    expect(rows).toContain('## Progress');
    expect(rows).not.toContain('sk-');
    expect(logged.length).toBeGreaterThan(0);
    expect(log).not.toContain('sk-');
    expect(log).not.toContain('what follows');
    expect(log).not.toContain('## Progress');
  });
});

describe('the key that a summarizer is asked with', () => {
  it.each(MODES)(
    "is the deployment's own, and the caller's stays where it belongs, in mode %s",
    async (_, strategy) => {
      const { rounds, summarizerCalls } = start(strategy);

      await rounds(1, 5);

      expect(summarizerCalls().length).toBeGreaterThan(0);
      for (const { headers, body } of summarizerCalls()) {
        expect(headers.get('authorization')).toBe(`Bearer ${SUMMARIZER.SUMMARIZER_API_KEY}`);
        expect(JSON.stringify([...headers])).not.toContain(KEY);
        expect(body).not.toContain(KEY);
      }
    },
  );

  it.each(MODES)(
    "is the caller's, at the request's own upstream, without a summarizer, in mode %s",
    async (_, strategy) => {
      const none = {
        SUMMARIZER_BASE_URL: undefined,
        SUMMARIZER_MODEL: undefined,
        SUMMARIZER_API_KEY: undefined,
      };
      const { app, rounds } = start(strategy, none as unknown as Partial<Env>);
      app.answer.words = ({ body }) =>
        body.includes('You keep the running summary')
          ? writeSections(new Map([['## Progress', 'Made by the upstream.']]))
          : 'This is the answer.';

      const asked = await rounds(1, 5);

      const summaries = app.sent.filter(({ body }) => body.includes('You keep the running summary'));
      expect(summaries.length).toBeGreaterThan(0);
      for (const { url, headers, body } of summaries) {
        expect(url).toBe('http://upstream.test/v1/chat/completions');
        expect(headers.get('authorization')).toBe(`Bearer ${KEY}`);
        expect(JSON.parse(body).model).toBe('gpt-4.1');
      }
      expect(asked.at(-1)?.view).toContain('Made by the upstream.');
    },
  );
});
