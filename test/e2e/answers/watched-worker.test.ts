/** The check that fails a file for an uncaught error of its Worker sees each kind of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runWorker } from '../../support/deployment/run-worker.ts';
import { uncaughtIn } from '../../support/deployment/watched-worker.ts';

/** A Worker that does what a path names. */
const FAULTY = `
import { DurableObject } from 'cloudflare:workers';

export class Faulty extends DurableObject {
  fail(where) {
    const failing = Promise.reject(new Error('in an object'));
    if (where === 'waitUntil') this.ctx.waitUntil(failing);
  }
}

const broken = (error) =>
  new Response(new ReadableStream({ pull: (controller) => controller.error(error) }));

export default {
  async fetch(request, env, ctx) {
    switch (new URL(request.url).pathname) {
      case '/promise':
        Promise.reject(new Error('a promise'));
        break;
      case '/work':
        ctx.waitUntil(Promise.reject(new Error('work')));
        break;
      case '/object':
        await env.FAULTY.getByName('one').fail('promise');
        break;
      case '/object-work':
        await env.FAULTY.getByName('one').fail('waitUntil');
        break;
      case '/body':
        return broken(new Error('a body'));
      case '/connection':
        return broken(Object.assign(new Error('a connection'), { retryable: true }));
      case '/handled':
        ctx.waitUntil(Promise.reject(new Error('handled')).catch(() => undefined));
    }
    return new Response('done');
  },
};
`;

let folder = '';
let printed = '';
let worker: Awaited<ReturnType<typeof runWorker>> | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'precis-faulty-'));
  const module = join(folder, 'index.js');
  await writeFile(module, FAULTY);
  const durableObjects = { FAULTY: { className: 'Faulty' } };
  const options = { compatibilityDate: '2026-01-01', durableObjects };
  worker = await runWorker({ module, options }, {}, (line) => {
    printed += line;
  });
});
afterAll(async () => {
  await worker?.close();
  await rm(folder, { recursive: true, force: true });
});

it.each([
  ['/promise', 'Uncaught (in promise) Error: a promise'],
  ['/work', 'Uncaught (in waitUntil) Error: work'],
  ['/object', 'Uncaught (in promise) Error: in an object'],
  ['/object-work', 'Uncaught (in waitUntil) Error: in an object'],
  ['/body', 'a body'],
])('sees %s', async (path, error) => {
  const before = printed.length;
  await ask(path);

  await expect.poll(() => uncaughtIn(printed.slice(before)).join('\n')).toContain(error);
});

it.each(['/connection', '/handled'])('sees nothing in %s', async (path) => {
  const before = printed.length;
  await ask(path);
  await ask('/promise');

  await expect.poll(() => uncaughtIn(printed.slice(before))).toHaveLength(1);
  expect(printed.slice(before)).toContain('a promise');
});

async function ask(path: string): Promise<void> {
  await fetch(`${worker?.url}${path}`)
    .then((response) => response.text())
    .catch(() => undefined);
}
