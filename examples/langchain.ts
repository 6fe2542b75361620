/** LangChain: the strategy is a header of the client's configuration. */
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
// #region client
import { ChatOpenAI } from '@langchain/openai';
// #endregion

import { apiKey, baseURL, model, printEachEdit, READ_ORDER, readOrder, strategy, TASK } from './orders.ts';

printEachEdit();

// #region client
const chat = new ChatOpenAI({
  model,
  apiKey,
  configuration: {
    baseURL,
    defaultHeaders: { 'x-memory-strategy': JSON.stringify(strategy) },
  },
});
// #endregion

const clerk = chat.bindTools([{ type: 'function', function: READ_ORDER }]);

const messages: BaseMessage[] = [new HumanMessage(TASK)];
for (;;) {
  const answer = await clerk.invoke(messages);
  messages.push(answer);
  if (!answer.tool_calls?.length) {
    console.log(answer.text);
    break;
  }
  for (const { id = '', args } of answer.tool_calls)
    messages.push(new ToolMessage({ tool_call_id: id, content: readOrder(Number(args.number)) }));
}
