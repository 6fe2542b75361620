/**
 * An agent without tool calls: it writes actions as text, and its loop answers with observations.
 * Old observations become placeholders with refs. The model asks for one in text, and the loop
 * fetches it from Precis and gives it as the next observation.
 */
import OpenAI from 'openai';
import { apiKey, baseURL, model, printEdits, readOrder, strategy, TASK } from './orders.ts';

const PREFIX = 'Observation:';
const INSTRUCTIONS = [
  'Write one action per message: "Action: read_order NUMBER". When you know the answer, write it.',
  'A line like ⟦removed: observation; …; ref=ref_…; …⟧ stands for an earlier one. To read that again, write',
  'only ⟦fetch ref=ref_…⟧ with its ref.',
].join('\n');

const client = new OpenAI({ baseURL, apiKey });
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: INSTRUCTIONS },
  { role: 'user', content: TASK },
];

for (;;) {
  const { data, response } = await client.chat.completions
    .create({
      model,
      messages,
      memory_strategy: { ...strategy, text_observation_prefixes: [PREFIX] },
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
    .withResponse();
  const text = data.choices[0]?.message.content ?? '';
  printEdits(response.headers);
  console.log(`the model: ${text}`);
  messages.push({ role: 'assistant', content: text });
  const observation = await observe(text);
  if (observation === undefined) break;
  messages.push({ role: 'user', content: observation });
}

/** The observation after the action in a text; undefined without an action. */
async function observe(text: string): Promise<string | undefined> {
  const [, ref] = /⟦fetch ref=(ref_[a-z2-7]{26})⟧/.exec(text) ?? [];
  if (ref !== undefined) {
    const headers = { authorization: `Bearer ${apiKey}` };
    // The observation as it was, with its prefix.
    return (await fetch(`${baseURL}/refs/${ref}`, { headers })).text();
  }
  const [, number] = /Action: read_order (\d+)/.exec(text) ?? [];
  return number === undefined ? undefined : `${PREFIX} ${readOrder(Number(number))}`;
}
