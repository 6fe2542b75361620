/** Precis's marks for OpenAI's prompt cache, which is read at boundaries alone since GPT-5.6. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { marksIn } from '../../../src/protocol/edits.ts';
import { type Behaviour, behave } from '../../../tools/upstream/behaviours.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { type Message, rows } from '../../support/clients/agent-run.ts';
import { calls, result } from '../../support/conversations/chat.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const MODEL = 'gpt-5.6-sol';
const MARK = 'prompt_cache_breakpoint';
const deployment = deploy();
const unmarked = deploy({ vars: { UPSTREAM_PROMPT_CACHE: 'false' } });

function agentSteps(topic: string, count: number): Message[] {
  const steps = Array.from({ length: count }, (_, at): Message[] => [
    calls([`call_${at}`, 'search', JSON.stringify({ at })]),
    result(`call_${at}`, rows(`${topic} ${at}`, 30)),
  ]);
  return [{ role: 'user', content: `Weigh all ${topic}.` }, ...steps.flat()];
}

type Json = Record<string, unknown>;

/** The elements of a conversation that were sent. */
const elementsOf = ({ body }: RecordedRequest): Json[] => body?.messages ?? body?.input ?? [];
const isMarked = (element: Json): boolean => JSON.stringify(element).includes(`"${MARK}"`);
/** An element without its mark, and with one text part as a string. */
const plain = (element: Json): string =>
  JSON.stringify(element)
    .replaceAll(`,"${MARK}":{"mode":"explicit"}`, '')
    .replace(/\[\{"type":"(?:input_)?text","text":("(?:[^"\\]|\\.)*")\}\]/g, '$1');

/** The cache of a vendor that reads and writes at marks and at the end of a request alone. */
class BoundaryCache {
  private readonly entries = new Set<string>();

  /** @returns how many of the request's elements it has read */
  read(request: RecordedRequest): number {
    const elements = elementsOf(request);
    const hash = createHash('sha256');
    const boundaries = elements.flatMap((element, at) => {
      hash.update(plain(element));
      const isBoundary = isMarked(element) || at === elements.length - 1;
      return isBoundary ? [{ end: at + 1, key: hash.copy().digest('hex') }] : [];
    });
    const hit = boundaries.findLast(({ key }) => this.entries.has(key));
    for (const { key } of boundaries) this.entries.add(key);
    return hit?.end ?? 0;
  }
}

overProtocols('a model whose cache is read at boundaries', deployment, (protocol) => {
  const strategy = { mode: 'auto', token_budget: 6_000, min_reclaim_tokens: 0 };
  const ask = (messages: Message[], fields: object = {}) =>
    deployment.ask({ model: MODEL, memory_strategy: strategy, messages, memory_report: true, ...fields });
  /** Without requests for summaries, which may be sent after an answer. */
  const asks = (): RecordedRequest[] =>
    deployment.chats().filter((one) => elementsOf(one)[0]?.role !== 'system');
  const last = (): RecordedRequest => {
    const sent = asks().at(-1);
    if (!sent) throw new Error('the upstream was asked for no completion');
    return sent;
  };

  /** Refuses the next request for a model. A summary of the test before may still come first. */
  const refuse = (model: string, error: object): void => {
    const refusing: Behaviour = (request, response, recorded) => {
      const isIt = recorded.body?.model === model;
      if (!isIt) deployment.upstream.next(refusing);
      const behaviour: Behaviour = isIt ? { type: 'error', status: 400, body: error } : { type: 'answer' };
      void behave(behaviour, request, response, recorded);
    };
    deployment.upstream.next(refusing);
  };

  it('reads all that the mark before a move has kept, of requests in both forms in turn', async () => {
    const messages = agentSteps('apples', 40);
    const cache = new BoundaryCache();
    let moves = 0;
    let before: RecordedRequest | undefined;
    for (let end = 1; end <= messages.length; end += 2) {
      const { memory } = await ask(messages.slice(0, end), { stream: end % 4 === 1 });
      const sent = last();
      const read = cache.read(sent);
      const marks = elementsOf(sent).filter(isMarked).length;
      expect(marks).toBeLessThanOrEqual(3);
      if (before && memory.frontier.moved && elementsOf(before).some(isMarked)) {
        const [old, now] = [elementsOf(before).map(plain), elementsOf(sent).map(plain)];
        const changed = old.findIndex((element, at) => element !== now[at]);
        const kept = elementsOf(before).findLastIndex((element, at) => at < changed && isMarked(element));
        // A summary changes all but the first request.
        if (kept > 0) moves++;
        expect(kept).toBeGreaterThanOrEqual(0);
        expect(read).toBeGreaterThan(kept);
      }
      if (before && !memory.frontier.moved && end > 1) {
        expect(elementsOf(sent).slice(0, elementsOf(before).length)).toEqual(elementsOf(before));
      }
      before = sent;
    }
    expect(moves).toBeGreaterThan(0);
  });

  it('gets no more marks than the caller’s own leave, and none if the caller places all', async () => {
    const part = { type: 'text', text: 'Weigh all pears.', [MARK]: { mode: 'explicit' } };
    const messages = agentSteps('pears', 30);
    const own = [{ role: 'user', content: [part, part] }, ...messages.slice(1)] as Message[];
    await ask(own);
    expect(marksIn(last().rawBody, 9)).toBe(3);
    await ask(messages, { prompt_cache_options: { mode: 'explicit' } });
    expect(marksIn(last().rawBody, 9)).toBe(0);
  });

  it('is left alone below its budget, and so is any other model', async () => {
    await ask(agentSteps('plums', 2));
    expect(marksIn(last().rawBody, 9)).toBe(0);
    await ask(agentSteps('plums', 30), { model: 'gpt-4.1' });
    expect(marksIn(last().rawBody, 9)).toBe(0);
    await ask(agentSteps('plums', 30));
    expect(marksIn(last().rawBody, 9)).toBeGreaterThan(0);
  });

  it('is asked again without marks if its upstream refuses them, which is remembered', async () => {
    const message = `Unknown parameter: '${protocol.name}[0].content[0].${MARK}'.`;
    const error = {
      error: { message, type: 'invalid_request_error', param: null, code: 'unknown_parameter' },
    };
    const model = `gpt-5.6-sol-${protocol.name}`;
    const messages = agentSteps(`figs ${protocol.name}`, 30);
    refuse(model, error);
    const asked = asks().length;
    const { memory } = await ask(messages, { model });
    expect(memory.applied_edits.length).toBeGreaterThan(0);
    expect(asks().length - asked).toBe(2);
    expect(marksIn(last().rawBody, 9)).toBe(0);
    await ask(messages, { model });
    expect(asks().length - asked).toBe(3);
    expect(marksIn(last().rawBody, 9)).toBe(0);
  });

  it('answers with the upstream’s own error where that is about something else', async () => {
    const model = `gpt-5.6-sol-other-${protocol.name}`;
    const body = {
      error: { message: 'No such model.', type: 'invalid_request_error', param: 'model', code: null },
    };
    refuse(model, body);
    const messages = agentSteps('dates', 30);
    await expect(ask(messages, { model })).rejects.toThrow();
    await ask(messages, { model });
    expect(marksIn(last().rawBody, 9)).toBeGreaterThan(0);
  });
});

describe('an upstream that may not be sent the fields of a prompt cache', () => {
  it('gets no marks', async () => {
    const strategy = { mode: 'auto', token_budget: 6_000, min_reclaim_tokens: 0 };
    await unmarked.ask({
      model: MODEL,
      memory_strategy: strategy,
      messages: agentSteps('nuts', 30),
      memory_report: true,
    });
    expect(marksIn(unmarked.lastChat().rawBody, 9)).toBe(0);
  });
});
