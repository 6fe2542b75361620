import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementAt } from '../../../../src/lib/elements.ts';
import { type History, readHistory } from '../../../../src/memory/conversation/history.ts';
import type { ToolCall } from '../../../../src/memory/conversation/message.ts';
import { filesWritten, hasFailed, purgesIn } from '../../../../src/memory/edits/purge.ts';
import { contentOf } from '../../../../src/memory/edits/removed-content.ts';
import {
  type AutoRequest,
  autoStrategy,
  type ConversationBody,
  lateRichConversation,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import {
  assistant,
  body,
  calls,
  lines,
  read,
  result,
  step,
  user,
} from '../../../support/conversations/chat.ts';
import { forAll, runs } from '../../../support/laws/runs.ts';
import { counter, messagesOf, type Viewed, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

let made = 0;

/** A step with one call. */
function call(name: string, input: object, output = 'ok'): Message[] {
  const id = `call_${++made}`;
  return [calls([id, name, JSON.stringify(input)]), result(id, output)];
}

const code = (word: string): string => lines(25, word);
const write = (path: string, word: string, output?: string): Message[] =>
  call('write_file', { path, content: code(word) }, output);
const failed = (word = 'failed'): Message[] => call('run', { script: code(word) }, 'Error: no such host');
const steps = (n: number): Message[] =>
  Array.from({ length: n }, () => step(`s${++made}`, 'ls', 'ok')).flat();

/** A tail of one step, before which all that may be removed is removed at once. */
const ALL = {
  mode: 'auto',
  min_reclaim_tokens: 0,
  low_watermark_pct: 0,
  compact_keep: 0,
  compact_keep_steps: 1,
} as const satisfies AutoRequest;

/** The view of the first request that exceeds the budget. */
function view(messages: Message[], more: object = {}): Viewed {
  const all = body([user('go'), ...messages]);
  const { before } = viewOf(all, { ...ALL, token_soft_budget: 1_000_000 }).plan.replay;
  return viewOf(all, { ...ALL, token_soft_budget: before - 1, ...more });
}

/** The words of the arguments that are cleared. */
function cleared(messages: Message[], more: object = {}): string[] {
  const { view: made, request } = view(messages, more);
  return [...made.removals.values()].flat().flatMap((removal) => {
    const [, word = ''] =
      /:"(?:[^"]*","content":")?(\w+) 0:/.exec(contentOf(removal, request.messages).text) ?? [];
    return removal.kind === 'input' ? [word] : [];
  });
}

describe('the arguments of a failed call', () => {
  it('are cleared once four steps have followed it', () => {
    expect(cleared([...failed(), ...steps(3)])).toEqual([]);
    expect(cleared([...failed(), ...steps(4)])).toEqual(['failed']);
  });

  it('become a JSON object whose ref gives them back', () => {
    const messages = [...failed(), ...steps(4)];
    const viewed = view(messages);
    const [removal] = [...viewed.view.removals.values()].flat();
    const [shown] = (messagesOf(viewed)[1]?.tool_calls ?? []) as { function: { arguments: string } }[];
    expect(JSON.parse(shown?.function.arguments ?? '')).toEqual({
      _removed: `⟦removed: tool input for run (call_id=${removal?.callId}); reason=context_compaction; ref=${removal?.ref}⟧`,
    });
    expect(removal && contentOf(removal, viewed.request.messages).text).toBe(
      JSON.stringify({ script: code('failed') }),
    );
    expect(viewed.report.applied_edits).toEqual([
      {
        type: 'compact',
        cleared_tool_results: 0,
        cleared_tool_inputs: 1,
        cleared_tokens: removal?.freed,
      },
    ]);
  });

  it('stay if they have fewer than 200 tokens', () => {
    const of = (tokens: number): object => {
      let script = '';
      while (counter.text(JSON.stringify({ script })) < tokens) script += ' a';
      return { script };
    };
    const isCleared = (tokens: number): boolean =>
      view([...call('run', of(tokens), 'Error: no'), ...steps(4)]).view.removals.size > 0;
    expect(counter.text(JSON.stringify(of(199)))).toBe(199);
    expect([199, 200].map(isCleared)).toEqual([false, true]);
  });

  it('stay if the strategy says so, or excludes the tool', () => {
    const messages = [...failed(), ...steps(4)];
    expect(cleared(messages, { compact_purge: false })).toEqual([]);
    expect(cleared(messages, { compact_exclude_tools: ['run'] })).toEqual([]);
    expect(cleared(messages, { compact_clear_tool_inputs: false })).toEqual(['failed']);
  });

  it('stay as long as the frontier', () => {
    expect(cleared([...failed(), ...steps(4)], { token_soft_budget: 50_000 })).toEqual([]);
  });
});

describe('the arguments of a write', () => {
  it('are cleared when a later write of its file has succeeded', () => {
    const messages = [...write('a', 'one'), ...write('b', 'two'), ...write('a', 'three'), ...steps(2)];
    expect(cleared(messages)).toEqual(['one']);
  });

  it('stay when the later write has failed, or has no result yet', () => {
    expect(cleared([...write('a', 'one'), ...write('a', 'two', 'Error: full'), ...steps(2)])).toEqual([]);
    const [open] = write('a', 'three');
    expect(cleared([...write('a', 'one'), ...steps(2), ...(open ? [open] : [])])).toEqual([]);
  });

  it('stay when another call of the same answer writes the file', () => {
    const input = (word: string): string => JSON.stringify({ path: 'a', content: code(word) });
    const both = calls(['x', 'write_file', input('one')], ['y', 'write_file', input('two')]);
    expect(cleared([both, result('x', 'ok'), result('y', 'ok'), ...steps(2)])).toEqual([]);
  });

  it('are no reason to clear an edit’s', () => {
    const edit = call('edit_file', { path: 'a', content: code('edit') });
    expect(cleared([...edit, ...write('a', 'one'), ...steps(2)])).toEqual([]);
  });
});

/** Each call with a path and a text writes that file. */
function withWrites(body: ConversationBody): ConversationBody {
  const written = JSON.stringify(body, (_, value) =>
    typeof value?.arguments === 'string' && value.arguments.includes('"text"')
      ? { ...value, name: 'write_file' }
      : value,
  );
  return JSON.parse(written) as ConversationBody;
}

const anyBody = fc.oneof(richConversation, lateRichConversation).map(withWrites);
const historyOf = (messages: readonly Message[]): History => readHistory(read(messages), ['Observation:']);

/** The calls that have results, by position, and the index of each result. */
function answered({ messages, units }: History): { at: string; call: ToolCall; result: number }[] {
  const outputs = units.flatMap((unit) => unit.outputs);
  return messages.flatMap(({ calls }, caller) =>
    calls.flatMap((call, index) => {
      const output = outputs.find((each) => each.call === call);
      return output ? [{ at: `${caller}:${index}`, call, result: output.message }] : [];
    }),
  );
}

describe('what is purged', () => {
  it('is never the last write of a file, unless that failed', () => {
    forAll(runs(6, 100), anyBody, (conversation: ConversationBody) => {
      const history = historyOf(conversation.messages);
      const { messages } = history;
      const purged = purgesIn(history);
      const last = new Map<string, ToolCall>();
      for (const { at, call, result } of answered(history)) {
        const [caller = 0, index = 0] = at.split(':').map(Number);
        const file = filesWritten(elementAt(messages, caller))[index];
        if (file !== undefined && !hasFailed(elementAt(messages, result))) last.set(file, call);
      }
      for (const call of last.values()) expect(purged.has(call)).toBe(false);
    });
  });

  it('is decided once: a longer array never changes it', () => {
    forAll(50, anyBody, ({ messages }) => {
      const byPlace = (all: readonly Message[]): Map<string, number | undefined> => {
        const history = historyOf(all);
        const purged = purgesIn(history);
        return new Map(answered(history).map(({ at, call }) => [at, purged.get(call)]));
      };
      const whole = byPlace(messages);
      // The points at which requests were made.
      const ends = messages.flatMap(({ role }, at) =>
        role === 'assistant' && ['user', 'tool'].includes(String(messages[at - 1]?.role)) ? [at] : [],
      );
      for (const end of ends)
        for (const [at, from] of byPlace(messages.slice(0, end)))
          if (from !== undefined && from < end) expect(whole.get(at)).toBe(from);
    });
  });

  it('leaves arguments that are a JSON object, in every view', () => {
    forAll(runs(6, 100), anyBody, autoStrategy, (conversation, strategy) => {
      const viewed = viewOf(conversation, { ...strategy, compact_clear_tool_inputs: false });
      for (const removal of [...viewed.view.removals.values()].flat())
        if (removal.kind === 'input')
          expect(Object.keys(JSON.parse(removal.replacement))).toEqual(['_removed']);
    });
  });

  it('is something, in generated conversations', () => {
    const some = fc.sample(anyBody, { numRuns: 200, seed: 1 });
    expect(some.filter(({ messages }) => purgesIn(historyOf(messages)).size > 0).length).toBeGreaterThan(20);
  });
});

describe('an answer without calls', () => {
  it('has nothing to purge', () => {
    expect(purgesIn(historyOf([user('a'), assistant('b')])).size).toBe(0);
  });
});
