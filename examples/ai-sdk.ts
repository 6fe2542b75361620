/** Vercel's AI SDK: the strategy is a header of the provider. */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { apiKey, baseURL, model, printEdits, READ_ORDER, readOrder, strategy, TASK } from './orders.ts';

const openai = createOpenAI({
  baseURL,
  apiKey,
  headers: { 'x-memory-strategy': JSON.stringify(strategy) },
});

const { text, steps } = await generateText({
  model: openai(model),
  prompt: TASK,
  stopWhen: stepCountIs(20),
  // The upstream need not store what Precis shortens.
  providerOptions: { openai: { store: false } },
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
