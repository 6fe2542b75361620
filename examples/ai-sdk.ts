/** Vercel's AI SDK: the strategy is a header of the provider. */
// #region client
import { createOpenAI } from '@ai-sdk/openai';
// #endregion

import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { apiKey, baseURL, model, printEdits, READ_ORDER, readOrder, strategy, TASK } from './orders.ts';

// #region client
const openai = createOpenAI({
  baseURL,
  apiKey,
  headers: { 'x-memory-strategy': JSON.stringify(strategy) },
});

// Whole items come back with the next request, and not their ids.
const providerOptions = { openai: { store: false } };
// #endregion

const { text, steps } = await generateText({
  model: openai(model),
  prompt: TASK,
  stopWhen: stepCountIs(20),
  providerOptions,
  tools: {
    [READ_ORDER.name]: tool({
      description: READ_ORDER.description,
      inputSchema: jsonSchema<{ number: number }>(READ_ORDER.parameters),
      execute: async ({ number }) => readOrder(number),
    }),
  },
});

for (const { response } of steps) printEdits(response.headers);
console.log(text);
