/** The OpenAI Agents SDK: the strategy is a header of the client. */
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { apiKey, baseURL, model, printingFetch, READ_ORDER, readOrder, strategy, TASK } from './orders.ts';

// Traces go to OpenAI, not to the base URL.
setTracingDisabled(true);

const client = new OpenAI({
  baseURL,
  apiKey,
  fetch: printingFetch,
  defaultHeaders: { 'x-memory-strategy': JSON.stringify(strategy) },
});

const agent = new Agent({
  name: 'Clerk',
  instructions: 'You look at orders.',
  model,
  modelSettings: { store: false },
  tools: [
    tool({
      ...READ_ORDER,
      strict: true,
      execute: async (given) => readOrder((given as { number: number }).number),
    }),
  ],
});

const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client }) });
const { finalOutput } = await runner.run(agent, TASK, { maxTurns: 20 });
console.log(finalOutput);
