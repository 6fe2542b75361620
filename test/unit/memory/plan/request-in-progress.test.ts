/** F28: the request that the model works on stays in the view, in each protocol. */
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { messagesBody } from '../../../../tools/upstream/blocks.ts';
import { responsesBody } from '../../../../tools/upstream/items.ts';
import { assistant, lines, step, user } from '../../../support/conversations/chat.ts';
import { viewInMessages } from '../../../support/laws/in-messages.ts';
import { viewOf, viewOfRequest } from '../../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const SAID: Readonly<Record<string, (at: number) => string>> = {
  'the state of the editor': (at) =>
    `<environment_details>\n${lines(5, `tab ${at}`)}\n</environment_details>`,
  'a line of progress': (at) => `Progress: ${at}/20`,
  'a line in brackets': () => '[The plan has been updated]',
  'words that nobody knows': (at) => `The linter has found nothing in part ${at}.`,
};

const STRATEGIES: readonly MemoryStrategyRequest[] = [
  { mode: 'summarize', token_budget: 3_000 },
  { mode: 'summarize', max_messages: 9 },
  { mode: 'auto', token_budget: 3_000, min_reclaim_tokens: 0 },
  { mode: 'auto', token_budget: 1_200, min_reclaim_tokens: 0, compact_keep_steps: 1 },
];

const BY_FORM: readonly MemoryStrategyRequest[] = [
  { mode: 'trim', token_budget: 3_000 },
  { mode: 'trim', max_turns: 3, keep_last_n_turns: 1 },
  { mode: 'summarize', token_budget: 3_000, keep_first_user: false },
];

const PROMPT = 'Rename the field "colour" of all shops to "paint".';

/** The prompt is the second one, so it is not the conversation's first request. */
function conversation(said: (at: number) => string, steps: number): Json {
  const asked = [user('Hi, are you there?'), assistant('Yes.'), user(PROMPT)];
  const run = Array.from({ length: steps }, (_, at) => [
    ...step(`call_${at}`, 'read_file', lines(40, `file ${at}`)),
    user(said(at)),
  ]).flat();
  return { model: 'gpt-4.1', messages: [...asked, ...run] };
}

const VIEWS: Readonly<Record<string, (body: Json, input: MemoryStrategyRequest) => ViewedBytes>> = {
  chat: (body, input) => viewOf(body, input, {}),
  'Messages, behind the results': (body, input) =>
    viewInMessages(messagesBody(body, { merges: true }), input, {}),
  'Messages, apart': (body, input) => viewInMessages(messagesBody(body), input, {}),
  Responses: (body, input) => {
    const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify(responsesBody(body))));
    if (!read.ok) throw new Error(read.reason.message);
    return viewOfRequest(read.value, input, {});
  },
};

interface ViewedBytes {
  readonly bytes: Uint8Array;
  readonly report: { readonly applied_edits: readonly unknown[] };
}

const textOf = ({ bytes }: ViewedBytes): string => new TextDecoder().decode(bytes);
const SHOWN = JSON.stringify(PROMPT).slice(1, -1);

describe.each(Object.entries(VIEWS))('a run in %s', (_, view) => {
  it.each(
    Object.entries(SAID).flatMap(([what, said]) => STRATEGIES.map((input) => [what, input, said] as const)),
  )('F28: keeps its request, with %s after results (%j)', (_, input, said) => {
    for (const steps of [4, 8, 12, 20]) {
      const viewed = view(conversation(said, steps), input);
      expect(textOf(viewed)).toContain(SHOWN);
      if (steps === 20) expect(viewed.report.applied_edits).not.toEqual([]);
    }
  });

  it.each(
    Object.entries(SAID)
      .slice(0, 3)
      .flatMap(([what, said]) => BY_FORM.map((input) => [what, input, said] as const)),
  )('F28: has one turn, with %s after results (%j)', (_, input, said) => {
    for (const steps of [4, 20]) expect(textOf(view(conversation(said, steps), input))).toContain(SHOWN);
  });

  it.each(STRATEGIES)('F28: keeps both requests where the user interrupts it (%j)', (input) => {
    const body = conversation(SAID['a line of progress'] as (at: number) => string, 10);
    const more = conversation((at) => `Progress: 1${at}/20`, 10).messages as Json[];
    const interrupted = 'Leave the shops in Oslo as they are.';
    const messages = [...(body.messages as Json[]).slice(0, -1), user(interrupted), ...more.slice(3)];
    const text = textOf(view({ ...body, messages: withOwnIds(messages) }, input));
    expect(text).toContain(SHOWN);
    expect(text).toContain(interrupted);
  });
});

/** The second part of a run has the ids of the first. */
function withOwnIds(messages: readonly Json[]): Json[] {
  let calls = 0;
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, tool_call_id: `own_${calls}` };
    const [call] = (message.tool_calls ?? []) as Json[];
    return call ? { ...message, tool_calls: [{ ...call, id: `own_${++calls}` }] } : message;
  });
}
