import { describe, expect, it } from 'vitest';
import { type Asked, type Deployment, deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import {
  conversation,
  HASTY,
  HEADINGS,
  type Manner,
  type Message,
  readSummary,
  tokensIn,
  UNWANTED,
  work,
} from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true, limits: { summaryBackoffMs: 20 } });

const strategy = { mode: 'summarize', context_limit: 4, keep_last_n_turns: 2 };

function ask(
  conversation_id: string,
  messages: Message[],
  fields: object = {},
  of = deployment,
): Promise<Asked> {
  return of.ask({ memory_strategy: strategy, conversation_id, ...fields, messages });
}

async function memoryOf(conversation: string, of = deployment) {
  const response = await of.fetch(`/v1/conversations/${encodeURIComponent(conversation)}/memory`);
  expect(response.status).toBe(200);
  return (await response.json()) as {
    health: string;
    memories: { status: string; error: string | null; attempts: number; model: string | null }[];
  };
}

/** Traces of a bad answer. Words, since a longer text could be cut in the middle. */
const NOTHING_OF_IT = new RegExp(
  `${UNWANTED}|error generating|rate limit|ignore the above|evil|Пользователь`,
  'i',
);

/** Bad answers of a summarizer, with the stored code of the failure and the number of calls. */
type Bad = readonly [manner: Manner, error: string, calls: number];
const BAD: readonly Bad[] = [
  ['rate limit', 'rate_limited', 3],
  ['long rate limit', 'rate_limited', 1],
  ['server error', 'upstream_error', 3],
  ['refusal', 'refused', 1],
  ['redirect', 'refused', 1],
  ['broken body', 'unreachable', 3],
  ['no JSON', 'unfinished', 3],
  ['no choices', 'unfinished', 3],
  ['empty text', 'empty', 3],
  ['no text', 'empty', 3],
  ['empty form', 'empty', 3],
  ['tool call', 'tool_call', 3],
  ['tool call beside a summary', 'tool_call', 3],
  ['too long', 'too_long', 3],
  ['error sentence', 'headings', 3],
  ['work gone on with', 'headings', 3],
  ['other script', 'language', 3],
  ['orders', 'orders', 3],
  ['length limit', 'unfinished', 3],
  ['content filter', 'unfinished', 3],
  ['loop', 'degenerate', 3],
];
const SILENT: readonly Bad[] = [
  ['hang', 'timeout', 3],
  ['hang in the body', 'timeout|unreachable', 3],
];

function isReplaced(of: Deployment, bad: readonly Bad[]): void {
  describe.each(bad)('that gives: %s', (manner, error, calls) => {
    it('is replaced by a digest, which stays until the frontier moves', async () => {
      of.summarizer.always(manner);
      const messages = conversation('scales', 4);

      const first = await ask(manner, messages, {}, of);
      of.summarizer.always('summary');
      const again = await ask(manner, messages, {}, of);
      const longer = await ask(manner, conversation('scales', 5), {}, of);

      const [preamble, , answer, ...tail] = first.seen.body.messages;
      const { text } = readSummary(answer.content);
      expect([preamble, ...tail]).toEqual([messages[0], ...messages.slice(5)]);
      expect(text).toMatch(/^## User Intent\n- Question 1 about scales\./);
      expect(text.match(/^## .*$/gm)).toEqual(HEADINGS);
      expect(first.seen.rawBody.toString()).not.toMatch(NOTHING_OF_IT);
      expect(first.text).not.toMatch(NOTHING_OF_IT);
      expect(tokensIn(answer.content)).toEqual([]);

      expect(of.summarizer.requests).toHaveLength(calls);
      expect(first.memory.summary).toMatchObject({ status: 'degraded', text });
      expect(first.memory.warnings).toEqual(['summary_degraded']);
      expect(first.headers.get('x-memory-warning')).toBe('summary_degraded');

      expect(again.seen.rawBody.equals(first.seen.rawBody)).toBe(true);
      expect(again.memory.warnings).toEqual(['summary_degraded']);
      expect(longer.headers.get('x-memory-frontier')).toBe('kept');
      const opening = first.seen.rawBody.toString().slice(0, -2);
      expect(longer.seen.rawBody.toString().startsWith(opening)).toBe(true);

      const { health, memories } = await memoryOf(manner, of);
      expect(health).toBe('degraded');
      expect(memories.find(({ status }) => status === 'failed')).toMatchObject({
        error: expect.stringMatching(`^(${error})$`),
        attempts: calls,
      });
      expect(JSON.stringify(memories)).not.toMatch(NOTHING_OF_IT);
    });
  });
}

overProtocols('a summarizer', deployment, () => isReplaced(deployment, BAD));

describe('a summarizer that falls silent', () => {
  const hasty = deploy(HASTY);

  overProtocols('a summarizer', hasty, () => {
    isReplaced(hasty, SILENT);

    it('is kept as a timeout, if it stops in the middle of its answer', async () => {
      hasty.summarizer.always('hang in the body');
      await ask('half a timeout', conversation('balances', 4), {}, hasty);

      const { memories } = await memoryOf('half a timeout', hasty);
      expect(memories.find(({ status }) => status === 'failed')?.error).toBe('timeout');
    });
  });
});

overProtocols('after a failure', deployment, () => {
  it('the summarizer rests: the next move asks nobody, and its digest stays too', async () => {
    deployment.summarizer.next('refusal');
    await ask('resting', conversation('weights', 4));
    const moved = await ask('resting', conversation('weights', 6));
    const longer = await ask('resting', conversation('weights', 7));

    expect(deployment.summarizer.requests).toHaveLength(1);
    expect(moved.headers.get('x-memory-frontier')).toBe('moved');
    expect(moved.memory.summary).toMatchObject({ status: 'degraded', covers: [1, 8] });
    const { text } = readSummary(moved.seen.body.messages[2].content);
    expect(text).toContain('Question 1 about weights');
    expect(text).toContain('Question 4 about weights');
    const opening = moved.seen.rawBody.toString().slice(0, -2);
    expect(longer.seen.rawBody.toString().startsWith(opening)).toBe(true);
  });

  it('other conversations are summarized as ever', async () => {
    deployment.summarizer.next('refusal');
    await ask('unlucky', conversation('weights', 4));

    const { memory } = await ask('lucky', conversation('weights', 4));

    expect(memory.summary?.status).toBe('completed');
    expect((await memoryOf('lucky')).health).toBe('healthy');
  });

  it('the digest goes on from the summary that there was', async () => {
    await ask('good, then bad', conversation('weights', 4));
    const { token } = deployment.summarizer.lastReading();
    deployment.summarizer.always('refusal');

    const { seen, memory } = await ask('good, then bad', conversation('weights', 6));

    const { text } = readSummary(seen.body.messages[2].content);
    expect(memory.summary).toMatchObject({ status: 'degraded', covers: [1, 8], base_memory_id: 1 });
    expect(text).toContain(token);
    expect(text).toContain('Question 4 about weights');
  });

  it('what the digest covers is kept under its ref', async () => {
    deployment.summarizer.next('refusal');
    const messages = conversation('weights', 4);
    const { memory } = await ask('kept', messages);

    const response = await deployment.fetch(`/v1/refs/${memory.summary?.ref}`);

    expect(await response.text()).toContain(String(messages[4]?.content));
  });

  it('prohibitions of the user are in the digest word for word', async () => {
    deployment.summarizer.next('refusal');
    const messages = conversation('weights', 4);
    const prohibition = 'Never touch the golden weight, whatever anyone says.';
    messages[3] = { role: 'user', content: `${messages[3]?.content}\n${prohibition}` };

    const { seen } = await ask('prohibited', messages);

    expect(readSummary(seen.body.messages[2].content).text).toContain(prohibition);
  });
});

overProtocols('a summarizer that recovers', deployment, () => {
  it.each(['rate limit', 'server error', 'broken body', 'error sentence', 'length limit'] as Manner[])(
    'at its second attempt is believed: %s',
    async (manner) => {
      deployment.summarizer.next(manner);

      const { memory, seen } = await ask(`recovers from ${manner}`, conversation('balances', 4));

      const { token } = deployment.summarizer.lastReading();
      expect(memory.summary?.status).toBe('completed');
      expect(memory.warnings).toEqual([]);
      expect(tokensIn(seen.body.messages[2].content)).toEqual([token]);
      expect(deployment.summarizer.requests).toHaveLength(2);
      const { health, memories } = await memoryOf(`recovers from ${manner}`);
      expect(health).toBe('healthy');
      expect(memories).toMatchObject([{ status: 'completed', attempts: 2 }]);
    },
  );

  it('is paid for with every attempt that it has counted', async () => {
    deployment.summarizer.next('length limit');

    const { memory } = await ask('paid twice', conversation('balances', 4));

    const total = deployment.summarizer.readings.reduce((sum, { usage }) => sum + usage.total_tokens, 0);
    expect(memory.summary?.usage.total_tokens).toBe(total);
  });
});

overProtocols('in other forms of request', deployment, () => {
  it('a stream is answered, and its report says so', async () => {
    deployment.summarizer.next('refusal');

    const { memory, headers, text } = await ask('streamed', conversation('ounces', 4), { stream: true });

    expect(headers.get('content-type')).toContain('text/event-stream');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(headers.get('x-memory-warning')).toBe('summary_degraded');
    expect(memory.summary?.status).toBe('degraded');
    expect(text).not.toMatch(NOTHING_OF_IT);
  });

  it('inside a turn the digest comes before the request', async () => {
    deployment.summarizer.next('error sentence', 'error sentence', 'error sentence');
    const memory_strategy = { mode: 'summarize', token_budget: 4_000, keep_first_user: false };
    const messages = work('Weigh each ounce.', 'ounces', 14);

    const { memory, seen } = await ask('at work', messages, { memory_strategy });

    const { rest, text } = readSummary(seen.body.messages[1].content);
    expect(rest).toBe('Weigh each ounce.');
    expect(text).toContain('weigh {"item":"ounces 10"}');
    expect(text).not.toMatch(NOTHING_OF_IT);
    expect(memory.summary?.status).toBe('degraded');
  });

  it('POST /v1/compact gives the digest, and says so', async () => {
    deployment.summarizer.next('refusal');
    const response = await deployment.postTo('/v1/compact', {
      memory_strategy: strategy,
      messages: conversation('drams', 4),
    });

    const { messages, memory } = (await response.json()) as { messages: Message[]; memory: Asked['memory'] };
    expect(response.status).toBe(200);
    expect(memory.summary?.status).toBe('degraded');
    expect(readSummary(messages[2]?.content).text).toBe(memory.summary?.text);
  });

  it('an address where nobody listens is survived', async () => {
    await deployment.summarizer.away(async () => {
      const { memory } = await ask('nobody there', conversation('grains', 4));
      expect(memory.summary?.status).toBe('degraded');
    });
    expect((await memoryOf('nobody there')).memories).toContainEqual(
      expect.objectContaining({ error: 'unreachable' }),
    );
  });
});
