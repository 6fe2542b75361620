/**
 * Works to run with a small heap, one after the other: `node --max-old-space-size=64
 * test/support/laws/heap-work.ts NAME…`. The exit code says whether they finished, and the output
 * names those that have.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TenantLru } from '../../../src/lib/lru.ts';
import { createTokenCounter, loadTokenize } from '../../../src/memory/tokens/tokens.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { MOST_OPENED, openedRefs } from '../../../src/routes/mcp/tools.ts';
import type { RefStore } from '../../../src/storage/refs/store.ts';
import { collectLedger } from '../../../src/summary/text/ledger.ts';
import { Exporter } from '../../../src/telemetry/exporter.ts';
import { RequestTrace } from '../../../src/telemetry/request-trace.ts';
import { assistant, body, calls, result, step, user } from '../conversations/chat.ts';
import { filledIsolate } from './filled-isolate.ts';
import { rememberNoText, viewOf } from './view-of.ts';

const OLD = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;

/** 4.8 MB that are counted fast. */
const SPACES = ' '.repeat(4_800_000);
/** This many times 4.8 MB exceed what a heap of 64 MB has left beside the tokenizer's tables. */
const TIMES = Array.from('qxzvkjwypb');

/** Half as many with a character of two bytes, which each of their characters takes then. */
const TWO_BYTES = TIMES.length / 2;

/** The largest body that is edited. */
const LARGEST_BODY = 16 * 1024 * 1024;

const encoder = new TextEncoder();

/**
 * A body of 16 MiB with one tool output. Its bytes are outside of the heap.
 *
 * @param begin of the output's JSON
 * @param next repeated until the body is full
 * @param end of the output's JSON
 */
function bodyOf(begin: string, next: (n: number, isEarly: boolean) => string, end: string): Uint8Array {
  const bytes = new Uint8Array(LARGEST_BODY);
  let at = 0;
  const put = (text: string): void => {
    at += encoder.encodeInto(text, bytes.subarray(at)).written;
  };
  const messages = [user('go'), ...step('call_1', 'f', '[output]'), assistant('done'), user('on')];
  const [head = '', tail = ''] = JSON.stringify(body(messages)).split('"[output]"');
  put(`${head}${begin}`);
  for (let n = 0; at < LARGEST_BODY - tail.length - 256; n++) put(next(n, at < LARGEST_BODY / 2));
  put(`${end}${tail}`);
  return bytes.subarray(0, at);
}

/** One half is separated by spaces, the other by commas. */
function bodyOfIds(): Uint8Array {
  // All ids are one letter and digits of one length, so all are literals of equal value. Digits are
  // fast to tokenize.
  const id = (n: number): string => `a${n + 10_000_000}1`;
  return bodyOf('"', (n, isEarly) => `${id(n)}${isEarly ? ' ' : ','}`, '"');
}

function compacts(bytes: Uint8Array): void {
  const view = viewOf(bytes, { ...OLD, compact_preview_tokens: 48 });
  const sent = new TextDecoder().decode(view.bytes.subarray(0, 2_000));
  if (!/held: a\w+1 a\w+1/.test(sent)) throw new Error(`no preview: ${sent.slice(0, 800)}`);
}

function offloads(bytes: Uint8Array): void {
  const { report } = viewOf(bytes, { mode: 'auto', token_budget: 20_000 }, { retrieval: true });
  if (report.applied_edits[0]?.type !== 'offload') throw new Error('the output was not offloaded');
}

function collects(bytes: Uint8Array): void {
  const read = readChatRequest(bytes);
  const text = read.ok ? (read.value.messages[2]?.content().text ?? '') : '';
  const { literals } = collectLedger([{ index: 0, role: 'tool', text, calls: [] }]);
  if (literals.length < 1_000) throw new Error('the ledger is empty');
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

const works: Record<string, () => Promise<void> | void> = {
  'counts many texts': async () => {
    const counter = createTokenCounter(await loadTokenize('o200k_base'));
    // A word that is no single token, so that the tokenizer caches its merges.
    for (const letter of TIMES) counter.text(`${SPACES} unheardofword${letter}quxz`);
  },
  'compacts, offloads and collects the ledger of a body of distinct ids': () => {
    // A message is counted once for all of them.
    const bytes = bodyOfIds();
    compacts(bytes);
    offloads(bytes);
    collects(bytes);
  },
  'weighs a body of parts with distinct keys': () => {
    const long = ' '.repeat(150);
    const { report } = viewOf(
      bodyOf('[', (n) => `{"k${n}":1,"${long}":0},`, '1]'),
      OLD,
    );
    if (report.applied_edits.length !== 1) throw new Error('the output was not removed');
  },
  'reads arguments of millions of values': () => {
    const input = `{"_removed":"⟦removed: ","a":[${'{}, '.repeat(4_000_000)}1]}`;
    const messages = [user('go'), calls(['call_1', 'f', input]), result('call_1', 'x'), assistant('done')];
    const strategy = { ...OLD, compact_clear_tool_inputs: true };
    const { report } = viewOf(body([...messages, user('on')]), strategy);
    if (report.applied_edits.length === 0) throw new Error('the arguments were not cleared');
  },
  'remembers a fact under parts of many texts': () => {
    const known = new TenantLru<boolean>({ bytes: 1_000_000 });
    for (const letter of TIMES) {
      const text = `${letter} is the name of an owner, and of a fact${SPACES}`;
      known.set(text.slice(0, 29), text.slice(0, 43), true);
    }
    if (known.isEmpty) throw new Error('nothing is remembered');
  },
  'lists 200 contents of half a megabyte': async () => {
    const metadata = {
      tool_name: 'f',
      tool_call_id: 'call_1',
      content_type: 'text/plain',
      tokens: 9,
      bytes: 9,
      created: 1,
    };
    const store: Pick<RefStore, 'get'> = {
      get: async (ref, admit) => {
        const content = Uint8Array.from(encoder.encode(`${ref}: ${'a line of a log\n'.repeat(31_250)}`));
        await admit?.(content.length);
        return { metadata, content, uploaded: 0 };
      },
    };
    const refs = Array.from({ length: MOST_OPENED }, (_, index) => `ref_${index}`);
    const listed = await openedRefs(refs, store, {
      query: undefined,
      tool: undefined,
      conversation: undefined,
      user: undefined,
    });
    if (listed.length !== MOST_OPENED || !listed[7]?.text.startsWith('ref_7: a line'))
      throw new Error('not all are listed');
  },
  'traces 200 requests with a model name of half a megabyte': () => {
    const exporter = new Exporter({
      endpoint: 'https://collector.example',
      headers: {},
      log: () => {},
      lost: () => {},
    });
    for (let n = 0; n < 200; n++) {
      const trace = new RequestTrace(new Headers(), { exporter, share: 1, method: 'POST', route: '/' });
      const name = encoder.encode(`model-${n} ${'x'.repeat(500_000)}`);
      trace.asks({ model: new TextDecoder().decode(name) });
      trace.calling('https://upstream.example').answered(undefined, new TextDecoder().decode(name));
      trace.end(200, 'complete');
    }
  },
  // A process that holds nothing else has less than 10 MB.
  'remembers many tenants in every kind': () => {
    const memory = filledIsolate();
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const megabytes = (heapUsed + arrayBuffers) / 1e6;
    if (megabytes > 100 || memory.of('turns').isEmpty) throw new Error(`${megabytes.toFixed(1)} MB are held`);
  },
  'reads many outputs that begin like a marker': () => {
    for (const letter of TIMES.slice(0, TWO_BYTES)) {
      const labels = `for a_tool_of_some_name (call_id=call_0123456789_${letter})`;
      const ref = `ref_${letter.repeat(26)}; tokens=9`;
      const forged = `⟦removed: tool output ${labels}; reason=context_compaction; ref=${ref}⟧\n${SPACES}.`;
      const messages = [user('go'), ...step(`call_${letter}`, 'f', forged), assistant('done'), user('on')];
      const { report } = viewOf(body(messages), OLD);
      if (report.applied_edits.length === 0) throw new Error('the output was not read as a marker');
    }
  },
};

rememberNoText();
for (const name of process.argv.slice(2)) {
  const work = works[name];
  if (!work) throw new Error(`no work is called ${name}`);
  await work();
  console.log(name);
}
