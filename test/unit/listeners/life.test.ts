import { describe, expect, it, vi } from 'vitest';
import { Timings } from '../../../src/lib/server-timing.ts';
import { FEATURES } from '../../../src/listeners/features.ts';
import { CallLife } from '../../../src/listeners/life.ts';
import type { CallEnd, CallFeature, CallListener, SettledCall } from '../../../src/listeners/listener.ts';
import { idleReport } from '../../../src/memory/plan/report.ts';
import type { Call } from '../../../src/request/call.ts';
import { ApiError } from '../../../src/request/errors.ts';
import type { RequestScope } from '../../../src/request/scope.ts';
import { Metrics } from '../../../src/storage/metrics/metrics.ts';

const report = idleReport('none', 'default');
const made = { view: undefined, report };
const head = () => ({ status: 200, headers: new Headers() });
const settled: SettledCall = { plan: { ...made, refused: [] } };

/** A life with these listeners, and what becomes of its work. */
function lifeOf(listeners: readonly CallListener[], gone = new AbortController()) {
  const log = vi.fn();
  const waitUntil = vi.fn<(work: Promise<unknown>) => void>();
  const incoming = new Request('https://precis.example', { signal: gone.signal });
  const scope = { services: { log }, waitUntil, incoming } as unknown as RequestScope;
  const answers: readonly CallFeature[] = listeners.map((listener) => () => listener);
  const life = new CallLife(scope, 'chat', { everyCall: [], answers, conversations: [] });
  life.reads({ scope } as Call, 'answer');
  return { life, log, waitUntil, gone };
}

/** A listener that writes down what it hears. */
function recorder(name: string, heard: string[]): CallListener {
  const note = (what: string) => () => void heard.push(`${name} ${what}`);
  return {
    sent: note('sent'),
    settled: note('settled'),
    begins: note('begins'),
    completes: note('completes'),
    ended: note('ended'),
  };
}

function livesThrough(life: CallLife): void {
  life.sent({ body: new Uint8Array(), usages: [] });
  life.settled(settled);
  life.begins(head(), report);
  life.completes({ text: 'So.' });
  life.ended('complete');
}

/** How the call of a life has ended. */
function endOf(live: (life: CallLife, gone: AbortController) => void): CallEnd | undefined {
  const ended = vi.fn<(end: CallEnd) => void>();
  const { life, gone } = lifeOf([{ ended }]);
  live(life, gone);
  expect(ended).toHaveBeenCalledTimes(1);
  return ended.mock.calls[0]?.[0];
}

describe('a call', () => {
  it('reports everything to its listeners in order, each of them before the next', () => {
    const heard: string[] = [];
    const { life } = lifeOf([recorder('a', heard), recorder('b', heard)]);
    livesThrough(life);
    const events = ['sent', 'settled', 'begins', 'completes', 'ended'];
    expect(heard).toEqual(events.flatMap((event) => [`a ${event}`, `b ${event}`]));
  });

  it('reports its end once, and that the first time', () => {
    const end = endOf((life) => {
      life.begins(head(), report);
      life.ended('upstream_broke');
      life.ended('complete');
      life.failed(new Error('late'));
    });
    expect(end).toMatchObject({ how: 'upstream_broke', refusal: undefined, head: { status: 200 } });
  });

  it('reports the text of its answer at the end', () => {
    expect(endOf(livesThrough)).toMatchObject({ how: 'complete', text: 'So.' });
  });

  it('ends with the error that its work throws, and throws it', async () => {
    const ended = vi.fn();
    const { life } = lifeOf([{ ended }]);
    const refusal = new ApiError('invalid_json', 'No JSON.');
    await expect(life.through(() => Promise.reject(refusal))).rejects.toBe(refusal);
    expect(ended.mock.calls).toMatchObject([
      [{ how: 'error', refusal: 'invalid_json', head: { status: 400 } }],
    ]);
  });

  it.each([
    ['a fault of ours', (life: CallLife) => life.failed(new TypeError('odd')), 'error'],
    [
      'an error of the upstream',
      (life: CallLife) => {
        life.begins({ ...head(), status: 429 }, report);
        life.ended('complete');
      },
      'error',
    ],
  ])('ends as an error with %s', (_, live, how) => {
    expect(endOf(live)).toMatchObject({ how });
  });

  it.each(['upstream_broke', 'error', 'caller_left'] as const)(
    'ends because the caller has left, whatever that has done to the upstream: %s',
    (how) => {
      const end = endOf((life, gone) => {
        gone.abort();
        life.ended(how);
      });
      expect(end?.how).toBe('caller_left');
    },
  );

  it('is complete although its caller leaves after the last byte', () => {
    const end = endOf((life, gone) => {
      gone.abort();
      life.ended('complete');
    });
    expect(end?.how).toBe('complete');
  });
});

describe('a listener that throws', () => {
  const broken = (): never => {
    throw new RangeError('a secret');
  };
  const listener: CallListener = {
    sent: broken,
    reports: broken,
    settled: broken,
    begins: broken,
    completes: broken,
    ended: broken,
  };

  it('keeps nothing from the others, and is logged without a word of it', async () => {
    const heard: string[] = [];
    const { life, log } = lifeOf([listener, recorder('b', heard)]);
    livesThrough(life);
    expect(heard).toHaveLength(5);
    await expect.poll(() => log).toHaveBeenCalledTimes(5);
    expect(log).toHaveBeenCalledWith('error', expect.any(String), {
      code: 'internal_error',
      error: 'RangeError',
      at: expect.any(String),
    });
    expect(JSON.stringify(log.mock.calls)).not.toContain('secret');
  });

  it.each([
    ['at once', broken],
    ['later', () => Promise.reject(new RangeError('a secret'))],
  ])('adds nothing to the report: %s', async (_, reports) => {
    const { life, log } = lifeOf([{ reports }, { reports: async () => ({ trigger: 'upstream_limit' }) }]);
    expect(await life.reports(made)).toEqual({ trigger: 'upstream_limit' });
    expect(log).toHaveBeenCalledTimes(1);
  });

  it('ends the work that the runtime waits for like any other', async () => {
    const { life, waitUntil } = lifeOf([{ ended: async () => broken() }]);
    life.ended('complete');
    await expect(waitUntil.mock.calls[0]?.[0]).resolves.toBeUndefined();
  });
});

describe('a feature that can’t begin', () => {
  it('is logged, and the others listen', () => {
    const log = vi.fn();
    const scope = { services: { log }, incoming: new Request('https://precis.example') };
    const begins = vi.fn();
    const fails = () => {
      throw new TypeError('odd');
    };
    const features = { everyCall: [fails, () => ({ begins })], answers: [], conversations: [] };
    new CallLife(scope as unknown as RequestScope, 'chat', features).begins(head(), report);
    expect(begins).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledTimes(1);
  });
});

describe('the work after an answer', () => {
  it('is announced to the runtime when the call begins, once for all listeners', async () => {
    const ended = Promise.withResolvers<void>();
    const { life, waitUntil } = lifeOf([{ ended: () => ended.promise }, { ended: () => undefined }]);
    expect(waitUntil).toHaveBeenCalledTimes(1);
    const over = vi.fn();
    const waited = waitUntil.mock.calls[0]?.[0].then(over);
    life.ended('complete');
    await Promise.resolve();
    expect(over).not.toHaveBeenCalled();
    ended.resolve();
    await waited;
    expect(over).toHaveBeenCalled();
  });

  it('is not announced where no listener has any', () => {
    const { life, waitUntil } = lifeOf([{ begins: () => undefined }]);
    livesThrough(life);
    expect(waitUntil).not.toHaveBeenCalled();
  });
});

describe('what is read of an answer', () => {
  it.each([
    [{}, false, false],
    [{ readsUsage: true }, true, false],
    [{ readsAnswer: true }, false, true],
  ])('is what a listener needs: %j', (listener, usage, text) => {
    const { life } = lifeOf([{}, listener]);
    expect([life.readsUsage, life.readsAnswer]).toEqual([usage, text]);
  });
});

describe('a feature that is off', () => {
  /** Of a deployment without a collector, metrics and a log of requests. */
  const services = {
    config: { logLevel: 'warn', keepsEvents: true },
    metrics: new Metrics(),
    webhooks: { isOn: false },
  };
  const scope = {
    services,
    caller: { tenant: undefined },
    timings: new Timings(),
  } as unknown as RequestScope;

  it('has no listener for a call that is not read', () => {
    const names = FEATURES.everyCall.filter((feature) => feature(scope, 'chat')).map(({ name }) => name);
    expect(names).toEqual(['headers']);
  });

  it('has no listener for a call that was read', () => {
    const chosen = { strategy: { mode: 'none' }, report: false, archives: false };
    const call = { request: { messages: [] }, chosen, owner: { off: [] }, scope } as unknown as Call;
    const features = [...FEATURES.answers, ...FEATURES.conversations];
    const form = { protocol: 'chat', kind: 'answer' } as const;
    const names = features.filter((feature) => feature(call, form)).map(({ name }) => name);
    expect(names).toEqual(['memory']);
  });
});
