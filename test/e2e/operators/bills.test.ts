import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import type { Bill } from '../../../src/memory/money/bill-schema.ts';
import type { RunEvent } from '../../../src/memory/run/event.ts';
import { sendAnswer } from '../../../tools/upstream/behaviours.ts';
import type { Answer } from '../../../tools/upstream/completion.ts';
import { Vendor } from '../../../tools/upstream/invoice.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { FORMS, inTurn } from '../../support/deployment/in-turn.ts';

const deployment = deploy({ summarizer: true });

const { messages, tools } = recording;

/** The arrays of the conversation's requests: everything before each of the model's answers. */
const arrays = messages.flatMap((message, index) =>
  message.role === 'assistant' ? [messages.slice(0, index)] : [],
);

/** GPT-4.1 nano, of the summarizer, in nanodollars per token. */
const NANO = { input: 100, output: 400 };
const NANODOLLARS_PER_CENT = 1e7;
const PICO_PER_NANO = 1_000n;

/** A vendor's upstream. Its model fetches the first ref that it sees in every third request. */
function billing(vendor: Vendor) {
  let asked = 0;
  return (_: IncomingMessage, response: ServerResponse, recorded: RecordedRequest): void => {
    const body = recorded.body ?? {};
    const ref = /ref_[a-z2-7]{26}/.exec(JSON.stringify(body.messages))?.[0];
    const isFetched = JSON.stringify(body.messages).includes('"fetch_');
    const isDue = ref !== undefined && !isFetched && ++asked % 3 === 0;
    const call = {
      id: `fetch_${asked}`,
      name: 'retrieve_ref',
      arguments: JSON.stringify({ ref, max_tokens: 300 }),
    };
    const answer: Answer = isDue ? { toolCalls: [call] } : { content: 'The agent goes on.' };
    sendAnswer(response, body, answer, {
      id: 'chatcmpl-billed',
      model: String(body.model),
      usage: vendor.call(body, answer),
    });
  };
}

interface Sums {
  readonly requests: number;
  readonly billed: number;
  readonly sent: { readonly amount: number };
  readonly would_be: { readonly amount: number };
  readonly actual: number;
  readonly net: number;
  readonly debits: Bill['debits'];
  readonly unique: { readonly tokens: number };
  readonly gross: { readonly tokens: number };
}

interface Requests {
  readonly data: readonly Pick<RunEvent, 'n' | 'bill' | 'potential_bill'>[];
  readonly bill: Sums;
}

const json = async <Body>(path: string): Promise<Body> => (await deployment.fetch(path)).json();

/** Until the events of all requests are kept. */
async function requestsOf(id: string): Promise<Requests> {
  await deployment.fetch(`/v1/conversations/${id}/memory/flush`, { method: 'POST' });
  return json<Requests>(`/v1/conversations/${id}/requests?limit=100`);
}

const MODES = [
  ['auto', { mode: 'auto', token_budget: 24_000 }],
  ['summarize', { mode: 'summarize', context_limit: 3, keep_last_n_turns: 1 }],
] as const;

inTurn(
  FORMS,
  ({ form }) => `the bills of a conversation whose answers come ${form}`,
  ({ form, fields }) => {
    it.each(MODES)(
      'add up to the invoices of vendor and summarizer in mode %s',
      async (mode, memory_strategy) => {
        const vendor = new Vendor();
        const without = new Vendor();
        deployment.upstream.become({ chat: billing(vendor), strict: false });
        const id = `billed-${mode}-${form}`;
        for (const array of arrays) {
          const body = { model: 'gpt-4.1', tools, messages: array as object[], ...fields };
          without.call(body, { content: 'The agent goes on.' });
          await deployment.ask({ ...body, conversation_id: id, memory_strategy });
        }
        const { data, bill } = await requestsOf(id);

        const summaries = deployment.summarizer.readings.reduce(
          (sum, { usage }) => sum + usage.prompt_tokens * NANO.input + usage.completion_tokens * NANO.output,
          0,
        );
        const invoice = Number(vendor.total / PICO_PER_NANO) + summaries;
        expect(bill).toMatchObject({ requests: arrays.length, billed: arrays.length });
        expect(bill.actual).toBe(invoice);
        expect(Math.round(bill.actual / NANODOLLARS_PER_CENT)).toBe(
          Math.round(invoice / NANODOLLARS_PER_CENT),
        );
        expect(bill.net).toBe(bill.would_be.amount - bill.actual);
        expect(bill.debits.summarizer).toBe(summaries);
        if (mode === 'summarize') expect(summaries).toBeGreaterThan(0);
        if (mode === 'auto') expect(bill.debits.fetch_rounds).toBeGreaterThan(0);

        const bills = data.map((one) => one.bill);
        expect(bills).not.toContain(null);
        const sum = (of: (one: Bill | null) => number | undefined) =>
          bills.reduce((all, one) => all + (of(one) ?? Number.NaN), 0);
        expect(sum((one) => one?.sent?.amount)).toBe(bill.sent.amount);
        expect(sum((one) => one?.would_be?.amount)).toBe(bill.would_be.amount);
        expect(sum((one) => one?.unique?.tokens)).toBe(bill.unique.tokens);
        expect(sum((one) => one?.gross?.tokens)).toBe(bill.gross.tokens);

        const charged = Number(without.total / PICO_PER_NANO);
        expect(Math.abs(bill.would_be.amount - charged) / charged).toBeLessThan(0.1);
      },
    );
  },
);

it('a caller’s bills are the sums of its conversations', async () => {
  const list = await json<{ data: { bill: Sums }[] }>('/v1/conversations');
  const { bill } = await json<{ bill: Sums }>('/v1/stats');
  const sum = (of: (one: Sums) => number) => list.data.reduce((all, one) => all + of(one.bill), 0);
  expect(list.data.length).toBeGreaterThan(1);
  expect(bill.actual).toBe(sum(({ actual }) => actual));
  expect(bill.net).toBe(sum(({ net }) => net));
  expect(bill.requests).toBe(sum(({ requests }) => requests));
});

it('mode none saves exactly nothing', async () => {
  deployment.upstream.become({ chat: billing(new Vendor()), strict: false });
  for (const array of arrays.slice(0, 4)) {
    const fields = { model: 'gpt-4.1', tools, messages: array as object[], conversation_id: 'billed-none' };
    await deployment.ask({ ...fields, memory_strategy: 'none' });
  }
  const { bill, data } = await requestsOf('billed-none');
  expect(bill).toMatchObject({ requests: 4, billed: 4, net: 0, gross: { tokens: 0 }, unique: { tokens: 0 } });
  expect(data.map((one) => one.bill?.net)).toEqual([0, 0, 0, 0]);
});

it('an observed request saves nothing, and its event says what it would have saved', async () => {
  deployment.upstream.become({ chat: billing(new Vendor()), strict: false });
  const strategy = { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5, observe: true };
  const ask = { model: 'gpt-4.1', tools, conversation_id: 'observed', memory_strategy: strategy };
  const reports = [];
  for (const array of arrays.slice(-3))
    reports.push((await deployment.ask({ ...ask, messages: array as object[] })).memory.potential?.bill);
  const { data, bill } = await requestsOf('observed');
  expect(bill).toMatchObject({ requests: 3, billed: 3, net: 0 });
  expect(data.map((one) => one.potential_bill)).toEqual(reports.toReversed());
  for (const one of data) {
    expect(one.bill?.sent).toEqual(one.potential_bill?.sent);
    expect(one.potential_bill?.would_be?.amount).toBeLessThan(one.bill?.sent?.amount ?? 0);
  }
});

it('what is not known is null, and never 0', async () => {
  deployment.upstream.become({});
  const ask = { messages: arrays[0] as object[], conversation_id: 'not-billed', memory_strategy: 'auto' };
  await deployment.ask({ ...ask, model: 'a-model-without-a-price' });
  await deployment.ask({ ...ask, model: 'gpt-4.1', stream: true, memory_strategy: 'none' });
  await deployment.ask({ ...ask, model: 'gpt-4.1', service_tier: 'flex' });
  const { data, bill } = await requestsOf('not-billed');
  const [flex, streamed, unpriced] = data.map((one) => one.bill);
  expect([flex, unpriced]).toEqual([null, null]);
  expect(streamed).toMatchObject({ sent: null, would_be: null, actual: null, net: null, gross: null });
  expect(bill).toMatchObject({ requests: 3, billed: 0, sent: null, actual: null, net: null });
});
