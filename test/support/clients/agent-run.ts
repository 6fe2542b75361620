/**
 * A long agent run with everything that makes its view difficult: parallel calls answered out of
 * order, outputs of all sizes, repeated outputs, large arguments, and images and files in user
 * messages.
 */

export type Message = { role: string; content?: unknown } & Record<string, unknown>;

interface Call {
  readonly name: string;
  readonly input: object;
  readonly output: string;
}

/** Steps in each of the three turns. */
const STEPS = 16;

/** Lines that no other topic has, about 17 tokens each. */
export function rows(topic: string, count: number): string {
  return Array.from(
    { length: count },
    (_, at) => `row ${at} of ${topic}: weight ${(at * 7919) % 1_000} g, é ${at % 7}`,
  ).join('\n');
}

/** Turns in Messages form that each search for a topic once. */
export function searchTurns(topic: string, count: number): object[] {
  return Array.from({ length: count }, (_, at) => [
    { role: 'user', content: `What do ${topic} of ${at} weigh?` },
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${at}`, name: 'search', input: {} }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_${at}`, content: rows(`${topic} ${at}`, 60) }],
    },
    { role: 'assistant', content: 'A lot.' },
  ]).flat();
}

/** An inline image with this many bytes of base64. */
export function image(topic: string, bytes = 3_000): object {
  const data = Buffer.from(`${topic} `.repeat(bytes)).toString('base64').slice(0, bytes);
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } };
}

/** The tools of the run. */
export const tools = ['search', 'read_file', 'write_file', 'status'].map((name) => ({
  type: 'function' as const,
  function: { name, description: `Calls ${name}.`, parameters: { type: 'object', properties: {} } },
}));

/**
 * Three turns of 16 steps each, about 100,000 tokens in total; the last step waits for the model.
 *
 * @param steps of each turn instead; with seven or more, a run has all that is difficult
 */
export function agentRun(topic: string, steps = STEPS): Message[] {
  const file = {
    type: 'file',
    file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${'QUJD'.repeat(900)}` },
  };
  return [
    { role: 'system', content: `You look after ${topic}. Never delete a file.` },
    { role: 'user', content: [{ type: 'text', text: `Find out why ${topic} fail.` }, image(`${topic} 1`)] },
    ...stepsOf(topic, 1, steps),
    { role: 'assistant', content: `I know now why ${topic} fail.` },
    {
      role: 'user',
      content: [{ type: 'text', text: 'Then mend it. Never touch the tests.' }, image(`${topic} 2`), file],
    },
    ...stepsOf(topic, steps + 1, 2 * steps),
    { role: 'assistant', content: 'It is mended.' },
    { role: 'user', content: 'Now prove that it holds.' },
    ...stepsOf(topic, 2 * steps + 1, 3 * steps),
  ];
}

/**
 * The number of messages in each request of a run: all before an assistant message, and finally
 * all.
 */
export function lengthsOf(messages: readonly Message[]): number[] {
  const answers = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  return [...answers, messages.length];
}

function stepsOf(topic: string, from: number, to: number): Message[] {
  return Array.from({ length: to - from + 1 }, (_, at) => stepOf(topic, from + at)).flat();
}

function stepOf(topic: string, step: number): Message[] {
  const made = callsOf(topic, step).map((call, at) => ({ ...call, id: `call_${step}_${at}` }));
  return [
    {
      role: 'assistant',
      content: step % 4 === 0 ? `Step ${step}: I look closer.` : null,
      tool_calls: made.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      })),
    },
    ...made.map(({ id, output }) => ({ role: 'tool', tool_call_id: id, content: output })).toReversed(),
  ];
}

function callsOf(topic: string, step: number): Call[] {
  const search = (part: string, size: number): Call => ({
    name: 'search',
    input: { query: `${topic} ${step} ${part}` },
    output: rows(`${topic} ${step} ${part}`, size),
  });
  const size = 12 + ((step * 37) % 140);
  if (step % 13 === 7) return [search('everything', 520)];
  if (step % 5 === 3) return [search('one', size), search('two', 30), search('three', 60)];
  if (step % 9 === 4)
    return [
      {
        name: 'write_file',
        input: { path: `${step}.txt`, text: rows(`${topic} ${step}`, 50) },
        output: 'ok',
      },
    ];
  // The same file, which does not change; and the status, which does.
  if (step % 6 === 5)
    return [{ name: 'read_file', input: { path: 'settings.json' }, output: rows(`${topic} settings`, 80) }];
  if (step % 6 === 2)
    return [{ name: 'status', input: {}, output: `${rows(`${topic} status`, 45)}\nstep ${step}` }];
  return [search('alone', size)];
}

/**
 * The same run without tool calls: the agent writes what it does, and gets observations as user
 * messages.
 */
export function observedRun(topic: string): Message[] {
  return agentRun(topic).map((message) => {
    if (message.role === 'tool') return { role: 'user', content: `Observation: ${message.content}` };
    if (!message.tool_calls) return message;
    return { role: 'assistant', content: `Action: ${JSON.stringify(message.tool_calls)}` };
  });
}
