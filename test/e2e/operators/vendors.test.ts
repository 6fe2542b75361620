/** Whole conversations, billed by the rules of three vendors. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { recording } from '../../../fixtures/recording.ts';
import { sendAnswer } from '../../../tools/upstream/behaviours.ts';
import { Vendor } from '../../../tools/upstream/invoice.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import type { Message } from '../../support/clients/agent-run.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { FORMS, inTurn } from '../../support/deployment/in-turn.ts';

const deployment = deploy({ summarizer: true });

const { tools } = recording;
const messages = recording.messages as readonly Message[];
/** The arrays of the conversation's requests: everything before each of the model's answers. */
const arrays = messages.flatMap((message, index) =>
  message.role === 'assistant' ? [messages.slice(0, index)] : [],
);

const ANSWER = { content: 'The agent goes on.' };
const PICO_PER_NANO = 1_000n;

/** As agents mark an array for Anthropic's cache: the system message and the newest one. */
function marked(array: readonly Message[]): Message[] {
  const last = array.length - 1;
  return array.map((message, at) => {
    if (typeof message.content !== 'string' || (at !== last && message.role !== 'system')) return message;
    const part = { type: 'text', text: message.content, cache_control: { type: 'ephemeral' } };
    return { ...message, content: [part] };
  });
}

function billing(vendor: Vendor) {
  return (_: IncomingMessage, response: ServerResponse, recorded: RecordedRequest): void => {
    const body = recorded.body ?? {};
    const usage = vendor.call(body, ANSWER);
    sendAnswer(response, body, ANSWER, { id: 'chatcmpl-billed', model: String(body.model), usage });
  };
}

interface Bill {
  readonly billed: number;
  readonly actual: number;
  readonly debits: { readonly summarizer: number };
}

async function billOf(id: string): Promise<Bill> {
  await deployment.fetch(`/v1/conversations/${id}/memory/flush`, { method: 'POST' });
  const response = await deployment.fetch(`/v1/conversations/${id}/requests?limit=100`);
  return ((await response.json()) as { bill: Bill }).bill;
}

const MODELS = [
  ['gpt-4.1', (array: readonly Message[]) => [...array]],
  ['gpt-5.6-terra', (array: readonly Message[]) => [...array]],
  ['claude-sonnet-4.6', marked],
] as const;

inTurn(
  FORMS,
  ({ form }) => `a conversation that is answered ${form}`,
  ({ form, fields }) => {
    it.each(MODELS)(
      'costs less than without edits, and as much as its bill says, with %s',
      async (model, asSent) => {
        const vendor = new Vendor();
        const without = new Vendor();
        deployment.upstream.become({ chat: billing(vendor), strict: false });
        const id = `${model}-${form}`;
        let moves = 0;
        for (const array of arrays) {
          const body = { model, tools, messages: asSent(array), ...fields };
          without.call(body, ANSWER);
          const strategy = { mode: 'auto', token_budget: 24_000 };
          const { memory } = await deployment.ask({
            ...body,
            conversation_id: id,
            memory_strategy: strategy,
          });
          if (memory.frontier.moved) moves++;
        }
        const bill = await billOf(id);

        expect(moves).toBeGreaterThan(0);
        expect(bill.billed).toBe(arrays.length);
        expect(bill.actual).toBe(Number(vendor.total / PICO_PER_NANO) + bill.debits.summarizer);
        expect(bill.actual).toBeLessThan(Number(without.total / PICO_PER_NANO));
      },
    );
  },
);
