/** What is asked about an offloaded output: the task at hand, the output, and the key of both. */
import { elementAt } from '../lib/elements.ts';
import type { History } from '../memory/conversation/history.ts';
import { DIGEST_TOKENS } from '../memory/edits/output-digest.ts';
import type { Removal } from '../memory/edits/removal.ts';
import { contentOf } from '../memory/edits/removed-content.ts';
import type { TokenMeasure } from '../memory/models/facts.ts';
import type { SummarizingStrategy } from '../memory/modes/table.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { sha256Hex } from '../tenant/identity.ts';
import { hintsOf } from './strategy-hash.ts';
import { promptRoom, type SummarizerTarget } from './summarizer.ts';
import { DIGEST_PROMPT_VERSION, type OutputTask, taskOf, writeDigestPrompt } from './text/output-digest.ts';
import type { Prompt } from './text/prompt.ts';

/**
 * The most tokens of an output that a summarizer reads, whatever its window. A request waits, and
 * this many tokens take seconds.
 */
const MOST_READ = 100_000;

/** With less room than this, in tokens, nothing is asked. */
const LEAST_READ = 1_000;

/** A digest that a view may show. */
export interface DigestNeed {
  /** Identifies output, task and settings. */
  readonly key: string;
  /** Whether no earlier request can have shown the output's placeholder. */
  readonly isNew: boolean;
  /** Undefined if the summarizer's window is too small. */
  promptOf(): Prompt | undefined;
  /** The place of the digest. */
  readonly removal: Removal;
}

interface DigestContext {
  readonly history: History;
  readonly strategy: SummarizingStrategy;
  readonly target: SummarizerTarget;
  readonly encoding: TokenMeasure;
  readonly counter: TokenCounter;
}

export function digestNeed(removal: Removal, isNew: boolean, context: DigestContext): DigestNeed {
  const { history, strategy, target, encoding, counter } = context;
  const task = taskOf(taskAt(removal, history));
  const hints = hintsOf(strategy);
  // The window is left out: it may shrink within a conversation.
  const facts = [DIGEST_PROMPT_VERSION, removal.ref, task, target.model, hints, encoding];
  return {
    key: sha256Hex(JSON.stringify(facts)),
    isNew,
    promptOf: () => {
      const promptAbout = (text: string, tokens: number, most = tokens) =>
        writeDigestPrompt(task, { text, tokens, most }, hints, counter);
      const { system, user } = promptAbout('', 0);
      const around = counter.text(system) + counter.text(user) + 2 * DIGEST_TOKENS;
      const most = Math.min(MOST_READ, promptRoom(target, DIGEST_TOKENS) - around);
      if (most < LEAST_READ) return undefined;
      return promptAbout(contentOf(removal, history.messages).weight.texts.join('\n'), removal.tokens, most);
    },
    removal,
  };
}

/** The request of the output's turn, and the call that the output answers. */
function taskAt({ message, tool }: Removal, { messages, units, turns }: History): OutputTask {
  const asked = turns.findLast((turn) => elementAt(units, turn).first < message);
  const request = asked === undefined ? undefined : messages[elementAt(units, asked).first];
  const unit = units.find(({ first, last }) => first <= message && message <= last);
  const call = unit?.outputs.find((output) => output.message === message)?.call;
  return {
    request: request?.content().weight.texts.join('\n') ?? '',
    tool,
    input: call?.input ?? '',
  };
}
