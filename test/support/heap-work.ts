/** Work under a small heap: `node --max-old-space-size=64 test/support/heap-work.ts NAME`. Its exit code says whether it came to its end. */
import { createTokenCounter, loadTokenize } from '../../src/memory/tokens.ts';
import { body, step, user } from './chat.ts';
import { viewOf } from './view-of.ts';

const OLD = { mode: 'compact', compact_trigger_turns: 0, compact_keep: 0 } as const;

/** 4.8 MB that are counted fast. */
const SPACES = ' '.repeat(4_800_000);
/** So many times 4.8 MB are too much for a heap of 64 MB. */
const TIMES = Array.from('qxzvkjwypbmdtgfr');

const works: Record<string, () => Promise<void> | void> = {
  'counts many texts': async () => {
    const counter = createTokenCounter(await loadTokenize('o200k_base'));
    // A word that the encoding does not know: the tokenizer remembers what it merged.
    for (const letter of TIMES) counter.text(`${SPACES} unheardofword${letter}quxz`);
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
