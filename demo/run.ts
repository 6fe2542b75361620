/**
 * `npm run demo`: runs a recorded agent through Precis with the OpenAI client. Every request
 * carries the whole conversation, and the table shows what went upstream. At the end a removed tool
 * output is fetched back and compared with the original, byte by byte.
 *
 * Without OPENAI_API_KEY, demo/upstream.ts plays the model, and no key is needed. With it, every
 * prefix of the recording that ends where the agent asked its model is sent to OpenAI
 * (OPENAI_MODEL, default gpt-4.1-mini).
 */

import OpenAI from 'openai';
import { askedLiteral, type Message, outputOf, recording } from '../fixtures/recording.ts';
import { startWorker } from '../tools/worker-server.ts';
import { type Agent, ask, type Reply } from './client.ts';
import { printBlock, printHead, printHeader, printRow, printTotals, thousands } from './table.ts';
import { startDemoUpstream } from './upstream.ts';

const liveKey = process.env.OPENAI_API_KEY;
const apiKey = liveKey ?? 'sk-demo-0123456789abcdefghij';

// The handler of `exit` stops the Worker; a signal alone does not run it.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1));

const upstream = liveKey ? undefined : await startDemoUpstream();
try {
  const worker = await startWorker({
    vars: {
      PRECIS_SECRET: 'secret-of-the-demo-do-not-deploy',
      ...(upstream && { UPSTREAM_BASE_URL: upstream.url }),
    },
  });
  try {
    const agent: Agent = {
      client: new OpenAI({ baseURL: `${worker.url}/v1`, apiKey }),
      model: liveKey ? (process.env.OPENAI_MODEL ?? 'gpt-4.1-mini') : recording.model,
      strategy: { mode: 'compact', token_budget: 20_000, low_watermark_pct: 0.5 },
      ...(liveKey && { maxCompletionTokens: 300 }),
    };
    console.log(`Worker   ${worker.url}\nUpstream ${upstream?.url ?? 'OpenAI'}, model ${agent.model}`);
    console.log(`Strategy ${JSON.stringify(agent.strategy)}\n`);

    const replies = await play(agent);
    printTotals(
      replies,
      upstream?.seen.reduce((sum, request) => sum + request.promptTokens, 0),
    );
    process.exitCode = (await fetchBack(worker.url, replies.at(-1))) ? 0 : 1;
  } finally {
    await worker.close();
  }
} finally {
  await upstream?.close();
}

/** The agent's loop: ask, run the called tools, ask again, until the model calls none. */
async function play(agent: Agent): Promise<Reply[]> {
  const replies: Reply[] = [];
  const history: Message[] = recording.messages.slice(0, 1);
  printHeader();
  for (const user of recording.messages.filter((message) => message.role === 'user')) {
    history.push(user);
    for (let open = true; open; ) {
      const reply = await ask(agent, history, replies.length % 2 === 1);
      replies.push(reply);
      printRow(replies.length, history.length, reply);
      // A live model may answer differently; the conversation continues as recorded.
      const message = liveKey ? recordedAssistant(history.length) : reply.message;
      history.push(message);
      const calls = message.tool_calls ?? [];
      for (const { id } of calls) history.push({ role: 'tool', tool_call_id: id, content: outputOf(id) });
      open = calls.length > 0;
    }
  }
  return replies;
}

function recordedAssistant(at: number): Message & { role: 'assistant' } {
  const message = recording.messages[at];
  if (message?.role !== 'assistant')
    throw new Error(`Message ${at} of the recording is not the assistant's.`);
  return message;
}

/**
 * Fetches the removed output that the last question is about from Precis. False if it differs from
 * what the tool printed.
 */
async function fetchBack(workerUrl: string, last: Reply | undefined): Promise<boolean> {
  const question = recording.messages.findLast((message) => message.role === 'user')?.content ?? '';
  printBlock('The last question', question);
  printBlock('The answer, from what the model could still see', last?.message.content ?? '(no text)');

  const asked = askedLiteral();
  const refs = last?.reportedRefs ?? [];
  const chosen = refs.find((each) => each.tool_call_id === asked.callId) ?? refs[0];
  if (!chosen) return fail('The last report names no refs: nothing was removed.');

  const url = `${workerUrl}/v1/refs/${chosen.ref}`;
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(url, { headers });
  const kept = Buffer.from(await response.arrayBuffer());
  console.log(`\nGET /v1/refs/${chosen.ref}`);
  console.log(
    `    ${response.status}, ${chosen.tool_name} (${chosen.tool_call_id}), ${thousands(kept.length)} bytes`,
  );
  if (response.status !== 200) return fail(kept.toString('utf8'));
  printHead(kept.toString('utf8'), 5);

  const recorded = Buffer.from(outputOf(chosen.tool_call_id));
  if (!kept.equals(recorded)) return fail(`The tool had printed ${thousands(recorded.length)} other bytes.`);
  console.log('    Byte for byte what the tool had printed.');

  const term = /\bord_\w+/.exec(question)?.[0] ?? asked.literal;
  const found = await (await fetch(`${url}?grep=${encodeURIComponent(term)}`, { headers })).text();
  printBlock(`GET /v1/refs/${chosen.ref}?grep=${term}`, found.trimEnd());
  if (chosen.tool_call_id === asked.callId && !found.includes(asked.literal)) {
    return fail(`The line with ${asked.literal} was not found.`);
  }
  return true;
}

function fail(reason: string): false {
  console.error(`\nFAILED: ${reason}`);
  return false;
}
