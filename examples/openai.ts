/** The `openai` client: `memory_strategy` is one more field of the body. */
// #region client
import OpenAI from 'openai';
// #endregion

import { apiKey, baseURL, model, printEdits, READ_ORDER, readOrder, strategy, TASK } from './orders.ts';

const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: READ_ORDER }];

// #region client
const client = new OpenAI({ baseURL, apiKey });

const ask = (messages: OpenAI.ChatCompletionMessageParam[]) =>
  client.chat.completions.create({
    model,
    messages, // the whole array, every time
    tools,
    memory_strategy: strategy,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming);
// #endregion

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: TASK }];

for (;;) {
  const { data, response } = await ask(messages).withResponse();
  const message = data.choices[0]?.message;
  if (!message) throw new Error('There is no answer.');
  printEdits(response.headers);
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls)
    if (call.type === 'function') {
      const { number } = JSON.parse(call.function.arguments) as { number: number };
      messages.push({ role: 'tool', tool_call_id: call.id, content: readOrder(number) });
    }
}
