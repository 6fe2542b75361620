/**
 * Runs a recorded agent through Precis with the OpenAI client. Every request carries the whole
 * conversation, and the table shows what went upstream. The answer to the last question is in an
 * early tool output, which the model fetches if it is gone from its view. At the end that output is
 * fetched here too, and compared with the original, byte by byte.
 *
 * `--mode MODE` shows another mode than `auto` (demo/strategies.ts). Without
 * OPENAI_API_KEY, demo/upstream.ts plays the model, and no key is needed. With it, every prefix of
 * the recording that ends where the agent asked its model is sent to OpenAI (OPENAI_MODEL, default
 * gpt-6-luna).
 *
 * `--inspect` leaves the Worker running, and prints the address of its inspector
 * with the demo's conversation. No key is needed there: the requests have none, and belong to the
 * Worker's local tenant. With OPENAI_API_KEY the page asks for that key.
 */

import OpenAI from 'openai';
import { askedLiteral, type Call, type Message, outputOf, recording } from '../fixtures/recording.ts';
import { startWorker } from '../tools/own-worker.ts';
import { sumOf } from './bill.ts';
import { type Agent, ask, type Reply } from './client.ts';
import { FETCH_TOOL, fetchPart } from './fetch-tool.ts';
import { readOptions } from './options.ts';
import { billOfRun } from './run-bill.ts';
import { FETCHING_AGENTS, STRATEGIES } from './strategies.ts';
import { printBlock, printHead, printHeader, printRow, printTotals, thousands } from './table.ts';
import { askedOrder, promptOf, startDemoUpstream } from './upstream.ts';

const { mode, inspects } = readOptions(process.argv.slice(2));
// An empty variable is no key.
const liveKey = process.env.OPENAI_API_KEY?.trim() || undefined;
const apiKey = liveKey ?? (inspects ? 'demo' : 'sk-demo-0123456789abcdefghij');
const CONVERSATION = 'demo';

// Handlers of `exit` stop the Worker; a signal alone does not run them.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(inspects ? 0 : 1));

const upstream = liveKey ? undefined : await startDemoUpstream();
try {
  const worker = await startWorker({
    PRECIS_SECRET: 'secret-of-the-demo-do-not-deploy',
    ...(inspects && !liveKey && { LOCAL_TENANT: CONVERSATION }),
    ...(upstream && { UPSTREAM_BASE_URL: upstream.url }),
  });
  try {
    const agent: Agent = {
      client: new OpenAI({ baseURL: `${worker.url}/v1`, apiKey }),
      model: liveKey ? (process.env.OPENAI_MODEL ?? 'gpt-6-luna') : recording.model,
      tools: FETCHING_AGENTS.has(mode) ? [...recording.tools, FETCH_TOOL] : recording.tools,
      // The archive has the messages that the inspector shows.
      strategy: inspects && mode !== 'none' ? { ...STRATEGIES[mode], archive: true } : STRATEGIES[mode],
      // Its bill is the sum of its requests.
      conversation: CONVERSATION,
      ...(liveKey && { maxCompletionTokens: 300 }),
    };
    console.log(`Worker   ${worker.url}\nUpstream ${upstream?.url ?? 'OpenAI'}, model ${agent.model}`);
    console.log(`Strategy ${JSON.stringify(agent.strategy)}\n`);

    const replies = await play(agent, worker.url);
    printTotals(replies, await billOfRun(worker.url, apiKey, CONVERSATION));
    process.exitCode = (await fetchBack(worker.url, replies.at(-1))) ? 0 : 1;
    if (inspects) await untilInterrupted(worker.url);
  } finally {
    await worker.close();
  }
} finally {
  await upstream?.close();
}

/** Never resolves: a signal ends the program, and with it the Worker. */
function untilInterrupted(workerUrl: string): Promise<never> {
  console.log(`\nInspect  ${workerUrl}/inspect#/conversations/${CONVERSATION}`);
  if (liveKey) console.log('         The page asks for your OPENAI_API_KEY; it stays in the tab.');
  console.log('         Ctrl-C ends the Worker and deletes what it has stored.');
  return new Promise(() => undefined);
}

/** The agent's loop: ask, run the called tools, ask again, until the model calls none. */
async function play(agent: Agent, workerUrl: string): Promise<Reply[]> {
  const replies: Reply[] = [];
  const history: Message[] = recording.messages.slice(0, 1);
  printHeader();
  for (const user of recording.messages.filter((message) => message.role === 'user')) {
    history.push(user);
    const fetched = new Set<string>();
    for (let open = true; open; ) {
      const reply = await ask(agent, history, replies.length % 2 === 1);
      const sent = sumOf(promptOf({ messages: history, tools: agent.tools }));
      replies.push({ ...reply, fetched: [...fetched, ...reply.fetched] });
      printRow(replies.length, history.length, reply, sent);
      // A live model may answer differently; the conversation continues as recorded.
      const message = liveKey ? recordedAssistant(history.length) : reply.message;
      history.push(message);
      const calls = message.tool_calls ?? [];
      for (const call of calls) history.push(await outputFor(call, workerUrl, fetched));
      open = calls.length > 0;
    }
    if (mode === 'rolling_summary') await read(workerUrl);
  }
  return replies;
}

/** The recorded output of a call, or what the agent's own tool has fetched. */
async function outputFor(call: Call, workerUrl: string, fetched: Set<string>): Promise<Message> {
  const fetches = call.function.name === FETCH_TOOL.function.name;
  if (!fetches) return { role: 'tool', tool_call_id: call.id, content: outputOf(call.id) };
  const { ref, content } = await fetchPart(workerUrl, apiKey, call.function.arguments);
  fetched.add(ref);
  return { role: 'tool', tool_call_id: call.id, content };
}

/** A person reads the answer. Meanwhile the conversation's object writes the memory. */
async function read(workerUrl: string): Promise<void> {
  const url = `${workerUrl}/v1/conversations/${CONVERSATION}/memory/flush`;
  const headers = { authorization: `Bearer ${apiKey}` };
  await (await fetch(url, { method: 'POST', headers })).body?.cancel();
}

function recordedAssistant(at: number): Message & { role: 'assistant' } {
  const message = recording.messages[at];
  if (message?.role !== 'assistant')
    throw new Error(`Message ${at} of the recording is not the assistant's.`);
  return message;
}

/**
 * Fetches the removed output that the last question is about from Precis. False if it differs from
 * what the tool printed. Where a summary covers it, its transcript is fetched.
 */
async function fetchBack(workerUrl: string, last: Reply | undefined): Promise<boolean> {
  const question = recording.messages.findLast((message) => message.role === 'user')?.content ?? '';
  printBlock('The last question', question);
  printBlock(answerTitle(last), last?.message.content ?? '(no text)');

  const asked = askedLiteral();
  const refs = last?.reportedRefs ?? [];
  const chosen = refs.find((each) => each.tool_call_id === asked.callId);
  if (!chosen) {
    const fetched = last?.fetched.at(-1);
    const ref = fetched ?? last?.summaryRef;
    return ref === undefined || (await showTranscript(workerUrl, ref, fetched !== undefined));
  }

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

  const term = askedOrder();
  const found = await (await fetch(`${url}?grep=${encodeURIComponent(term)}`, { headers })).text();
  printBlock(`GET /v1/refs/${chosen.ref}?grep=${term}`, found.trimEnd());
  if (chosen.tool_call_id === asked.callId && !found.includes(asked.literal)) {
    return fail(`The line with ${asked.literal} was not found.`);
  }
  return true;
}

function answerTitle(last: Reply | undefined): string {
  const count = last?.fetched.length ?? 0;
  if (count === 0) return 'The answer, from what the model could still see';
  return `The answer, after the model fetched ${count === 1 ? 'a ref' : `${count} refs`}`;
}

/**
 * The transcript in which the model found its answer, or else the transcript of the summary in the
 * view. False if it can't be fetched, or lacks what the model found in it.
 */
async function showTranscript(workerUrl: string, ref: string, isAnswer: boolean): Promise<boolean> {
  const url = `${workerUrl}/v1/refs/${ref}`;
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(url, { headers });
  const text = await response.text();
  console.log(`\nGET /v1/refs/${ref}`);
  console.log(
    `    ${response.status}, messages that the summary covers, ${thousands(text.length)} characters`,
  );
  if (response.status !== 200) return fail(text);
  printHead(text, 6);
  if (!isAnswer) return true;

  const found = await (await fetch(`${url}?grep=${encodeURIComponent(askedOrder())}`, { headers })).text();
  const line = found.split('\n').find((one) => one.includes(askedLiteral().literal));
  printBlock(`GET /v1/refs/${ref}?grep=${askedOrder()}`, line ?? found);
  return line !== undefined || fail(`The line with ${askedLiteral().literal} was not found.`);
}

function fail(reason: string): false {
  console.error(`\nFAILED: ${reason}`);
  return false;
}
