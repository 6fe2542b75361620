/**
 * Calls and results of every kind in the Responses API: no view separates them, however little of a
 * conversation it shows.
 */
import { describe, expect, it } from 'vitest';
import { MARKER_START } from '../../../../src/memory/conversation/refs.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { responsesViolations } from '../../../../tools/upstream/strict-responses.ts';
import { viewOfRequest } from '../../../support/laws/view-of.ts';

type Json = Record<string, unknown>;

const words = (count: number, word: string): string =>
  Array.from({ length: count }, (_, at) => `${word} ${at}`).join(' ');

const reasoning = (step: number) => ({
  type: 'reasoning',
  id: `rs_${step}`,
  summary: [],
  encrypted_content: 'x'.repeat(60),
});
const output = (step: number) => ({
  type: 'function_call_output',
  call_id: `call_${step}`,
  output: words(300, `found ${step}`),
});
const script = (step: number) => ({
  type: 'custom_tool_call',
  call_id: `call_${step}`,
  name: 'exec',
  input: words(150, `step ${step}`),
});
const result = (step: number, what: string) => ({
  type: 'custom_tool_call_output',
  call_id: `call_${step}`,
  output: words(300, what),
});

const printed = (stdout: string) => ({ stdout, stderr: '', outcome: { type: 'exit', exit_code: 0 } });

const STEPS: Readonly<Record<string, (step: number) => Json[]>> = {
  'a script that tells something beside its result': (step) => [
    reasoning(step),
    script(step),
    result(step, 'result'),
    result(step, 'notice'),
  ],
  'a script that tells something when another call is answered': (step) => [
    script(step),
    result(step, 'goes on'),
    { type: 'function_call', call_id: `wait_${step}`, name: 'wait', arguments: '{}' },
    { type: 'function_call_output', call_id: `wait_${step}`, output: words(300, 'result') },
    result(step, 'notice'),
  ],
  'a local shell, whose result has the id of the call as its own': (step) => [
    reasoning(step),
    { type: 'local_shell_call', id: `lsh_${step}`, call_id: `call_${step}`, action: {}, status: 'completed' },
    { type: 'local_shell_call_output', id: `call_${step}`, output: words(300, 'printed') },
  ],
  'a shell': (step) => [
    { type: 'shell_call', call_id: `call_${step}`, action: { commands: [words(150, 'command')] } },
    { type: 'shell_call_output', call_id: `call_${step}`, output: [printed(words(300, 'printed'))] },
  ],
  'a shell that the upstream runs, before another call': (step) => [
    reasoning(step),
    {
      type: 'shell_call',
      id: `sh_${step}`,
      call_id: `shell_${step}`,
      action: { commands: [words(150, 'command')] },
      environment: { type: 'container_reference', container_id: 'c' },
    },
    {
      type: 'shell_call_output',
      id: `sho_${step}`,
      call_id: `shell_${step}`,
      output: [printed(words(300, 'printed'))],
    },
    { type: 'function_call', id: `fc_${step}`, call_id: `call_${step}`, name: 'search', arguments: '{}' },
    output(step),
  ],
  'a call that the caller has to approve': (step) => [
    reasoning(step),
    {
      type: 'mcp_approval_request',
      id: `mcpr_${step}`,
      server_label: 's',
      name: 'f',
      arguments: words(150, 'x'),
    },
    { type: 'mcp_approval_response', approval_request_id: `mcpr_${step}`, approve: true },
  ],
  'a search for tools, which the upstream makes': (step) => [
    reasoning(step),
    { type: 'tool_search_call', id: `tsc_${step}`, call_id: null, arguments: { for: words(150, 'tool') } },
    { type: 'tool_search_output', id: `tso_${step}`, call_id: null, tools: [] },
    { type: 'function_call', call_id: `call_${step}`, name: 'search', arguments: '{}' },
    output(step),
  ],
  'a program that calls tools': (step) => [
    {
      type: 'program',
      id: `prg_${step}`,
      call_id: `prg_${step}`,
      code: words(150, 'line'),
      fingerprint: 'f',
    },
    { type: 'function_call', call_id: `call_${step}`, name: 'search', arguments: '{}' },
    output(step),
    { type: 'program_output', id: `pro_${step}`, call_id: `prg_${step}`, result: words(150, 'result') },
  ],
};

const STRATEGIES = [3_000, 6_000].flatMap(
  (token_budget) =>
    [
      { mode: 'trim', token_budget },
      { mode: 'summarize', token_budget },
      { mode: 'auto', token_budget, min_reclaim_tokens: 0 },
      { mode: 'auto', token_budget, min_reclaim_tokens: 0, compact_min_tokens: 5_000 },
    ] as const,
);

/** Items that need a partner in the view, and how often each occurs. */
function partners(input: readonly Json[], type: RegExp): unknown[] {
  const found = input.filter((item) => type.test(String(item.type)));
  return found.map(({ call_id, id }) => call_id ?? id);
}

describe.each(Object.entries(STEPS))('steps of %s', (_, step) => {
  it.each(STRATEGIES)('stay whole under %j', (strategy) => {
    let shortened = 0;
    for (let length = 1; length <= 12; length++) {
      const steps = Array.from({ length }, (_, at) => step(at)).flat();
      const body = { model: 'gpt-5', input: [{ role: 'user', content: 'Go on.' }, ...steps] };
      const known = steps.map(({ id }) => String(id)).filter((id) => /^(?:sho?|fc)_/.test(id));
      const reasoned = new Map(known.map((id) => [id, id.replace(/^.*_/, 'rs_')]));
      const options = { reasoned };
      expect(responsesViolations(body, options)).toEqual([]);
      const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify(body)));
      if (!read.ok) throw new Error(read.reason.message);
      const view = JSON.parse(new TextDecoder().decode(viewOfRequest(read.value, strategy).bytes));
      const isEdited = JSON.stringify(view.input).includes(MARKER_START);
      if (isEdited || view.input.length < body.input.length) shortened++;
      expect(responsesViolations(view, options)).toEqual([]);
      const outputs = partners(view.input, /^(local_shell_call|program)_output$/);
      expect(partners(view.input, /^(local_shell_call|program)$/)).toEqual(outputs);
      const approvals = partners(view.input, /^mcp_approval_request$/);
      expect(partners(view.input, /^mcp_approval_response$/)).toHaveLength(approvals.length);
      const searches = partners(view.input, /^tool_search_call$/);
      expect(partners(view.input, /^tool_search_output$/)).toHaveLength(searches.length);
    }
    expect(shortened).toBeGreaterThan(0);
  });
});
