/** Items of OpenAI's own tools in the Responses API, and conversations that have them. */
import fc from 'fast-check';
import { linesAbout } from './conversations.ts';

export type Item = Record<string, unknown>;

export const fileSearch = (id: string, texts: readonly string[]): Item => ({
  type: 'file_search_call',
  id: `fs_${id}`,
  queries: ['the invoice'],
  status: 'completed',
  results: texts.map((text, at) => ({
    file_id: `file-${id}-${at}`,
    filename: `invoice-${at}.pdf`,
    score: 1.0 - at / 10,
    attributes: { year: 2026 },
    text,
  })),
});

export const webSearch = (id: string, texts: readonly string[]): Item => ({
  type: 'web_search_call',
  id: `ws_${id}`,
  status: 'completed',
  action: { type: 'search', query: 'prices', sources: [{ type: 'url', url: `https://shop.test/${id}` }] },
  results: texts.map((text, at) => ({
    type: 'text_result',
    url: `https://shop.test/${id}/${at}`,
    title: `Page ${at}`,
    snippet: text,
  })),
});

export const codeRun = (id: string, logs: readonly string[]): Item => ({
  type: 'code_interpreter_call',
  id: `ci_${id}`,
  code: 'run()',
  container_id: 'cntr_1',
  status: 'completed',
  outputs: [
    ...logs.map((text) => ({ type: 'logs', logs: text })),
    { type: 'image', url: 'https://img.test/1' },
  ],
});

export const mcpCall = (id: string, output: string | null): Item => ({
  type: 'mcp_call',
  id: `mcp_${id}`,
  server_label: 'shop',
  name: 'list_orders',
  arguments: '{"page":1}',
  status: 'completed',
  error: null,
  output,
});

export const shellStep = (id: string, printed: readonly string[]): Item[] => [
  {
    type: 'shell_call',
    call_id: `call_sh_${id}`,
    action: { commands: printed.map((_, at) => `cat ${id}-${at}`) },
  },
  {
    type: 'shell_call_output',
    call_id: `call_sh_${id}`,
    output: printed.map((stdout, at) => ({ stdout, stderr: '', outcome: { type: 'exit', exit_code: at } })),
  },
];

export const localShellStep = (id: string, output: string): Item[] => [
  {
    type: 'local_shell_call',
    id: `lsh_${id}`,
    call_id: `call_lsh_${id}`,
    status: 'completed',
    action: { type: 'exec', command: ['cat', id], env: {} },
  },
  { type: 'local_shell_call_output', id: `call_lsh_${id}`, output },
];

export const patchStep = (id: string, output: string): Item[] => [
  {
    type: 'apply_patch_call',
    call_id: `call_ap_${id}`,
    status: 'completed',
    operation: { type: 'update_file', path: `${id}.ts`, diff: '+ line' },
  },
  { type: 'apply_patch_call_output', call_id: `call_ap_${id}`, status: 'completed', output },
];

export const asks = (content: string): Item => ({ role: 'user', content });
export const says = (id: string, text: string): Item => ({
  type: 'message',
  id: `msg_${id}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

type Work = (id: string, texts: readonly string[]) => Item[];

const HOSTED: readonly Work[] = [
  (id, texts) => [fileSearch(id, texts)],
  (id, texts) => [webSearch(id, texts)],
  (id, texts) => [codeRun(id, texts)],
  (id, [text = null]) => [mcpCall(id, text)],
];

const STEPS: readonly Work[] = [
  shellStep,
  (id, [text = '']) => localShellStep(id, text),
  (id, [text = '']) => patchStep(id, text),
  (id, [text = '']) => [
    { type: 'function_call', call_id: `call_${id}`, name: 'search', arguments: '{}' },
    { type: 'function_call_output', call_id: `call_${id}`, output: text },
  ],
];

const text = fc.oneof(
  fc.constant(''),
  fc.string({ maxLength: 60 }),
  fc.string({ unit: 'grapheme', minLength: 100, maxLength: 400 }),
  fc
    .tuple(fc.constantFrom('apples', 'pears', 'plums'), fc.integer({ min: 3, max: 30 }))
    .map(([topic, lines]) => linesAbout(topic, lines)),
);

const work = (kinds: readonly Work[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), texts: fc.array(text, { maxLength: 3 }) });

/** Turns in which the model uses hosted tools, often several in one answer, and the caller's. */
export const hostedConversation: fc.Arbitrary<Item[]> = fc
  .array(
    fc.record({
      hosted: fc.array(work(HOSTED), { maxLength: 3 }),
      steps: fc.array(work(STEPS), { maxLength: 3 }),
      thinks: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((turns) =>
    turns.flatMap(({ hosted, steps, thinks }, turn) => {
      const made = (works: typeof hosted, of: string) =>
        works.flatMap(({ kind, texts }, at) => kind(`${of}${turn}_${at}`, texts));
      const reasoning = {
        type: 'reasoning',
        id: `rs_${turn}`,
        summary: [],
        encrypted_content: 'x'.repeat(80),
      };
      return [
        asks(`Do ${turn}.`),
        ...made(steps, 's'),
        ...(thinks ? [reasoning] : []),
        ...made(hosted, 'h'),
        says(`${turn}`, `Done ${turn}.`),
      ];
    }),
  );

/** Where the model is asked: after each user message and after each run of results. */
export function requestsIn(input: readonly Item[]): number[] {
  const isAsking = ({ role, type }: Item): boolean => role === 'user' || String(type).endsWith('_output');
  return input.flatMap((item, index) => {
    const next = input[index + 1];
    return isAsking(item) && (next === undefined || !isAsking(next)) ? [index + 1] : [];
  });
}
