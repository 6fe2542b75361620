/** Digests of large outputs: isolates that share an object, and objects that fail. */
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { assistant, calls, lines, type Message, result, user } from '../../support/conversations/chat.ts';
import { quiet } from '../../support/quiet.ts';
import { SUMMARIZER, startApp, type WatchedObjects, watchedBucket, watchedObjects } from '../support.ts';

beforeEach(quiet);

const LOGS = { type: 'function', function: { name: 'logs', parameters: { type: 'object' } } };
const memory_strategy = {
  mode: 'auto',
  offload_min_tokens: 1_000,
  offload_fresh_tokens: 1_000,
  offload_digest: 'model',
};

let made = 0;

/** A new conversation, whose last message is a large output that the model has not seen. */
function conversation(outputs = 1): Message[] {
  const own = ++made;
  const ids = Array.from({ length: outputs }, (_, at) => `call_${at}`);
  return [
    user(`Read ${own}.`),
    calls(...ids.map((id): [string, string] => [id, 'logs'])),
    ...ids.map((id) => result(id, lines(200, `${own} ${id}`))),
  ];
}

let digests = 0;
let asked = 0;
/** All apps: what one of them sends, the newest records. */
const apps: ReturnType<typeof startApp>[] = [];

/**
 * An isolate of its own. The newest one records what all of them ask of models.
 *
 * @param objects what it calls
 */
function isolate(objects: WatchedObjects = watchedObjects(env.CONVERSATION_MEMORY)) {
  const { bucket } = watchedBucket();
  const bindings = { ...SUMMARIZER, CONVERSATION_MEMORY: objects.namespace };
  const app = startApp(bucket, bindings, 'sk-a-caller-with-digests-of-outputs');
  const isDigest = ({ url }: { url: string }) => url.startsWith(SUMMARIZER.SUMMARIZER_BASE_URL);
  app.answer.words = (sent) => (isDigest(sent) ? `These words are digest ${++digests}.` : 'An answer.');
  apps.push(app);
  /** The outputs as the model sees them, and the warnings. */
  const ask = async (messages: readonly Message[]) => {
    const seed = ++asked;
    const fields = { model: 'gpt-4.1', tools: [LOGS], memory_strategy, memory_report: true, seed };
    const response = await app.chat({ ...fields, messages });
    expect(response.status).toBe(200);
    const { memory } = await response.json<{ memory: { warnings: string[] } }>();
    const bodies = apps.flatMap(({ sent }) => sent.map(({ body }) => body)).filter((body) => body !== '');
    const seen = bodies.map((body) => JSON.parse(body) as { seed?: number; messages: Message[] });
    const outputs = seen.find((one) => one.seed === seed)?.messages.filter(({ role }) => role === 'tool');
    return { shown: outputs?.map(({ content }) => String(content)) ?? [], warnings: memory.warnings };
  };
  /** Whether the summarizer never answers. */
  const neverAnswers = (isSo: boolean) => {
    app.answer.gate = (sent) => (isSo && isDigest(sent) ? new Promise(() => undefined) : undefined);
  };
  return { ask, objects, neverAnswers, digestCalls: () => app.sent.filter(isDigest).length };
}

const answered = (messages: readonly Message[]): Message[] => [
  ...messages,
  assistant('An answer.'),
  user('And?'),
];

/** Objects whose method waits before it is called. */
function gated(method: string, gate: Promise<void>): WatchedObjects {
  const watched = watchedObjects(env.CONVERSATION_MEMORY);
  watched.gates.set(method, gate);
  return watched;
}

describe('a digest of a large output', () => {
  it('is the same in every isolate, after an eviction too, and is made once', async () => {
    const messages = conversation();
    const first = isolate();
    const { shown } = await first.ask(messages);
    await first.objects.evict();
    const second = isolate();
    const again = [await second.ask(messages), await second.ask(answered(messages))];

    expect(shown[0]).toContain('\ndigest: These words are digest');
    for (const one of again) expect(one).toEqual({ shown, warnings: [] });
    expect(second.digestCalls()).toBe(0);
    expect(second.objects.calls.filter((call) => call.startsWith('outputDigests.'))).toEqual([
      'outputDigests.find',
    ]);
  });

  it('is made by one of two requests at once, and both show it', async () => {
    const messages = conversation();
    const gate = Promise.withResolvers<void>();
    // Both have found no verdict before one of them has it made.
    const writer = isolate(gated('outputDigests.make', gate.promise));
    const other = isolate(gated('outputDigests.make', gate.promise));
    const both = [writer.ask(messages), other.ask(messages)];
    const ready = ({ objects }: typeof writer) => objects.calls.includes('outputDigests.find');
    await vi.waitUntil(() => ready(writer) && ready(other), { timeout: 60_000 });
    gate.resolve();
    const [one, two] = await Promise.all(both);

    expect(two).toMatchObject({ warnings: [] });
    expect(two?.shown).toEqual(one?.shown);
    expect(two?.shown[0]).toContain('\ndigest: ');
    expect(writer.digestCalls() + other.digestCalls()).toBe(1);
  });

  it('is asked for once for all outputs of a request, and each is written', async () => {
    const own = isolate();
    const { shown } = await own.ask(conversation(9));

    expect(new Set(shown.flatMap((text) => /digest \d+/.exec(text) ?? []))).toHaveProperty('size', 9);
    expect(own.digestCalls()).toBe(9);
    expect(own.objects.calls.filter((call) => call.startsWith('outputDigests.'))).toEqual([
      'outputDigests.find',
      'outputDigests.make',
    ]);
  });
});

describe('an object that fails', () => {
  it.each(['outputDigests.find', 'outputDigests.make'])(
    'at %s has what was shown first stay, in all isolates',
    async (method) => {
      const messages = conversation();
      const own = isolate();
      own.objects.failing.add(method);
      const first = await own.ask(messages);
      const second = await own.ask(messages);
      own.objects.failing.clear();
      const third = await own.ask(answered(messages));
      const steady = own.objects.calls.length;
      const fourth = await own.ask(answered(messages));
      const stranger = isolate();
      const elsewhere = await stranger.ask(answered(messages));

      expect(first.shown[0]).not.toContain('\ndigest: ');
      expect(first.warnings).toEqual(['store_failed']);
      for (const one of [second, third, fourth, elsewhere])
        expect(one).toEqual({ shown: first.shown, warnings: [] });
      // After the answers their events are kept.
      expect(own.objects.calls.slice(steady).filter((call) => call !== 'events.add')).toEqual([]);
      expect(stranger.digestCalls()).toBe(0);
    },
  );

  it('while it makes a digest has the preview shown, and the first verdict stays', async () => {
    const messages = conversation();
    const own = isolate();
    own.neverAnswers(true);
    const asking = own.ask(messages);
    await vi.waitUntil(() => own.digestCalls() === 1, { timeout: 60_000 });
    await own.objects.restart();
    const first = await asking;
    own.neverAnswers(false);

    expect(first.warnings).toEqual(['store_failed']);
    expect(first.shown[0]).not.toContain('digest:');
    // After its answer the request has reported what it has shown.
    for (const later of [own, isolate()])
      expect(await later.ask(answered(messages))).toEqual({ shown: first.shown, warnings: [] });
    expect(own.digestCalls()).toBe(1);
  });
});
