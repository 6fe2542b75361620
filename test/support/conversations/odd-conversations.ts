/** Arrays of unusual shapes, and strategies with values at their limits. */
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import { agentRun, image, type Message, rows } from '../clients/agent-run.ts';
import { conversation, question, turn, work } from '../deployment/summarizer.ts';

const system = { role: 'system', content: 'You weigh things.' };
const apples = turn('apples', 1);
const [, ...steps] = work('', 'steps', 8).slice(1);
const run = agentRun('edges');
const answered = run.findIndex(({ content }) => String(content).startsWith('I know now')) + 1;
/** The same with text instead of its images and its file. */
const worded = run.map((message): Message => {
  if (message.role !== 'user' || !Array.isArray(message.content)) return message;
  return {
    ...message,
    content: message.content.map((part) =>
      part.type === 'text' ? part : { type: 'text', text: 'A picture.' },
    ),
  };
});

/** Arrays that the upstream accepts. */
export const ODD: [name: string, messages: Message[]][] = [
  ['only a system message', [system]],
  ['only one question', [question('apples', 1)]],
  ['only an answer', apples.slice(1)],
  ['no question at all', [system, ...apples.slice(1), ...turn('pears', 2).slice(1)]],
  [
    'answers before the first question',
    [...apples.slice(1), ...apples.slice(1), ...apples, question('figs', 2)],
  ],
  ['steps and no question', [system, ...steps]],
  ['steps before the first question', [...steps, ...apples, question('figs', 2)]],
  ['questions alone', [1, 2, 3, 4, 5].map((number) => question('plums', number))],
  ['a system message at the end', [...conversation('figs', 4), { role: 'system', content: 'Be brief.' }]],
  ['system messages between all others', conversation('figs', 4).flatMap((message) => [message, system])],
  [
    'a question without content',
    [...apples, { role: 'user', content: '' }, ...turn('a', 2), question('b', 3)],
  ],
  [
    'an answer that is null',
    [
      ...apples,
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '' },
      ...turn('a', 2),
      question('b', 3),
    ],
  ],
  [
    'names of users',
    conversation('figs', 5).map((message) =>
      message.role === 'user' ? { ...message, name: 'Ann' } : message,
    ),
  ],
  [
    'parts of text',
    conversation('figs', 5).map((one) => ({ ...one, content: [{ type: 'text', text: one.content }] })),
  ],
  ['a request and its steps, and a system message among them', [...work('Go.', 'pots', 6), system, ...steps]],
  ['outputs in parts', worded.slice(0, 44).map(inParts)],
  ['observations in user messages', observations()],
  ['observations alone', observations().filter(({ role }) => role === 'user')],
  ['one step of many calls', manyCalls()],
  ['a run that ends with an answer', worded.slice(0, answered)],
  ['a run in one turn', worded.slice(0, 30)],
  ['a run of three turns', worded.slice(0, 90)],
  ['images alone', [1, 2, 3, 4, 5].map((at) => ({ role: 'user', content: [image(`image ${at}`)] }))],
  ['a run in one turn, with images', run.slice(0, 30)],
  ['a run of three turns, with images', run],
];

function inParts(message: Message): Message {
  if (message.role !== 'tool') return message;
  const text = String(message.content);
  const half = Math.floor(text.length / 2);
  const parts = [text.slice(0, half), text.slice(half)].map((one) => ({ type: 'text', text: one }));
  return { ...message, content: parts };
}

function observations(): Message[] {
  const acts = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((at): Message[] => [
    { role: 'assistant', content: `Action: look at ${at}` },
    { role: 'user', content: `Observation: ${rows(`what is seen ${at}`, at === 3 ? 600 : 50)}` },
  ]);
  return [{ role: 'user', content: 'Look at all.' }, ...acts];
}

function manyCalls(): Message[] {
  const ids = Array.from({ length: 12 }, (_, at) => `call_${at}`);
  return [
    { role: 'user', content: 'Go.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'search', arguments: '{}' } })),
    },
    ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: rows('the same', 60) })),
    { role: 'assistant', content: 'I see.' },
    { role: 'user', content: 'And?' },
  ];
}

/** A strategy, and whether its edits are forced. */
export interface Attempt {
  readonly strategy: MemoryStrategyRequest;
  readonly force: boolean;
}

export const ATTEMPTS: Attempt[] = [
  { force: false, strategy: { mode: 'summarize', context_limit: 0, keep_last_n_turns: 0 } },
  { force: true, strategy: { mode: 'summarize', context_limit: 2, keep_last_n_turns: 1 } },
  { force: true, strategy: { mode: 'summarize', token_budget: 1, keep_last_n_turns: 0 } },
  { force: false, strategy: { mode: 'summarize', token_budget: 1_500, low_watermark_pct: 0.5 } },
  { force: true, strategy: { mode: 'summarize', keep_last_n_turns: 1_000 } },
  {
    force: false,
    strategy: { mode: 'summarize', context_limit: 2, keep_last_n_turns: 1, frontier: 'slide' },
  },
  { force: false, strategy: { mode: 'auto', token_budget: 0 } },
  {
    force: true,
    strategy: { mode: 'auto', token_budget: 1, compact_keep: 0, compact_keep_steps: 0, keep_last_n_turns: 0 },
  },
  {
    force: false,
    strategy: { mode: 'auto', token_budget: 2_000, min_reclaim_tokens: 0, low_watermark_pct: 0 },
  },
  {
    force: true,
    strategy: { mode: 'auto', token_budget: 6_000, min_reclaim_tokens: 0, compact_offload: false },
  },
  { force: false, strategy: { mode: 'auto', token_soft_budget: 1_000, min_reclaim_tokens: 0 } },
  {
    force: false,
    strategy: { mode: 'auto', context_limit: 2, keep_last_n_turns: 1, min_reclaim_tokens: 0 },
  },
  { force: true, strategy: { mode: 'auto', frontier: 'slide', token_budget: 2_000 } },
  { force: false, strategy: { mode: 'auto', context_window_tokens: 3_000 } },
];

/** Some arrays are too short for a summary to be shorter. */
export const TOO_SHORT = 4;

/** The last request of the user in an array, as JSON quotes it; undefined if it is no text. */
export function requestIn(messages: readonly Message[]): string | undefined {
  const asked = messages.findLast(({ role }) => role === 'user')?.content;
  if (typeof asked !== 'string' || asked.startsWith('Observation')) return undefined;
  return JSON.stringify(asked).slice(1, -1);
}
