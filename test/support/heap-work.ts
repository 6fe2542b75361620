/** Work under a small heap: `node --max-old-space-size=64 test/support/heap-work.ts NAME`. Its exit code says whether it came to its end. */
import { createTokenCounter, loadTokenize } from '../../src/memory/tokens/tokens.ts';
import { collectLedger } from '../../src/summary/text/ledger.ts';
import { assistant, body, calls, result, step, user } from './chat.ts';
import { viewOf } from './view-of.ts';

const OLD = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;

/** 4.8 MB that are counted fast. */
const SPACES = ' '.repeat(4_800_000);
/** So many times 4.8 MB are too much for a heap of 64 MB. */
const TIMES = Array.from('qxzvkjwypbmdtgfr');

/** The largest body that is edited. */
const LARGEST_BODY = 16 * 1024 * 1024;

const encoder = new TextEncoder();

/** A body of 16 MiB with one tool output of distinct ids: one half parted by spaces, the other in one row. Bytes lie outside of the heap. */
function bodyOfIds(): Uint8Array {
  const bytes = new Uint8Array(LARGEST_BODY);
  let at = 0;
  const put = (text: string): void => {
    at += encoder.encodeInto(text, bytes.subarray(at)).written;
  };
  const messages = [user('go'), ...step('call_1', 'f', '[ids]'), assistant('done'), user('on')];
  const [head = '', tail = ''] = JSON.stringify(body(messages)).split('[ids]');
  put(head);
  // Letters and digits by turns, and all of one length: each is a literal, and none is better than the others.
  for (let id = 0; at < LARGEST_BODY - tail.length - 32; id++)
    put(`a${(id * 7919 + 36 ** 5).toString(36)}1${at < LARGEST_BODY / 2 ? ' ' : ','}`);
  put(tail);
  return bytes.subarray(0, at);
}

const works: Record<string, () => Promise<void> | void> = {
  'counts many texts': async () => {
    const counter = createTokenCounter(await loadTokenize('o200k_base'));
    // A word that the encoding does not know: the tokenizer remembers what it merged.
    for (const letter of TIMES) counter.text(`${SPACES} unheardofword${letter}quxz`);
  },
  'compacts a body of distinct ids': () => {
    const { bytes } = viewOf(bodyOfIds(), { ...OLD, compact_preview_tokens: 48 });
    const sent = new TextDecoder().decode(bytes.subarray(0, 2_000));
    if (!/held: a\w+1 a\w+1/.test(sent)) throw new Error(`no preview: ${sent.slice(0, 800)}`);
  },
  'offloads a body of distinct ids': () => {
    const { report } = viewOf(bodyOfIds(), { mode: 'auto', token_budget: 20_000 }, { retrieval: true });
    if (report.applied_edits[0]?.type !== 'offload') throw new Error('the output was not offloaded');
  },
  'reads arguments of millions of values': () => {
    const input = `{"_removed":"⟦removed: ","a":[${'{},'.repeat(4_000_000)}1]}`;
    const messages = [user('go'), calls(['call_1', 'f', input]), result('call_1', 'x'), assistant('done')];
    const strategy = { ...OLD, compact_clear_tool_inputs: true };
    const { report } = viewOf(body([...messages, user('on')]), strategy);
    if (report.applied_edits.length > 0) throw new Error('the arguments were cleared');
  },
  'collects the ledger of a body of distinct ids': () => {
    const [, , message] = viewOf(bodyOfIds(), { mode: 'compact' }).request.messages;
    const text = message?.content().text ?? '';
    const { literals } = collectLedger([{ index: 0, role: 'tool', text, calls: [] }]);
    if (literals.length < 1_000) throw new Error('the ledger is empty');
  },
  'reads many outputs that begin like a marker': () => {
    for (const letter of TIMES) {
      const labels = `for a_tool_of_some_name (call_id=call_0123456789_${letter})`;
      const forged = `⟦removed: tool output ${labels}; reason=context_compaction⟧\n${SPACES}.`;
      viewOf(body([user('go'), ...step(`call_${letter}`, 'f', forged), user('on')]), OLD);
    }
  },
};

const work = works[process.argv[2] ?? ''];
if (!work) throw new Error(`no work is called ${process.argv[2]}`);
await work();
