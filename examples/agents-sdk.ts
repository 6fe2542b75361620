/** The OpenAI Agents SDK: the strategy is a header of the client. */
// #region client
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
// #endregion

import { apiKey, baseURL, model, printEachEdit, READ_ORDER, readOrder, strategy, TASK } from './orders.ts';

printEachEdit();

// #region client
// Traces go to OpenAI, not to the base URL.
setTracingDisabled(true);

const client = new OpenAI({
  baseURL,
  apiKey,
  defaultHeaders: { 'x-memory-strategy': JSON.stringify(strategy) },
});
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client }) });

// The upstream need not store what Precis shortens.
const modelSettings = { store: false };
// #endregion

const agent = new Agent({
  name: 'Clerk',
  instructions: 'You look at orders.',
  model,
  modelSettings,
  tools: [
    tool({
      ...READ_ORDER,
      strict: true,
      execute: async (given) => readOrder((given as { number: number }).number),
    }),
  ],
});

const { finalOutput } = await runner.run(agent, TASK, { maxTurns: 20 });
console.log(finalOutput);
