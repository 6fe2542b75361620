/**
 * A long conversation of a coding agent, made from a seed: turns of some steps, and tool outputs of
 * every kind and length.
 */
import { Random } from './random.ts';
import { identifier, pathOf, type Tool, tools, word } from './tools.ts';

export const DEFAULT_BYTES = 1_000_000;

interface Call {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly Call[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

export interface Conversation {
  readonly model: string;
  readonly tools: readonly object[];
  /** Ends with the results of a step: a request for the next one. */
  readonly messages: readonly Message[];
}

const MODEL = 'gpt-4.1';

/** Outputs in characters: half of them are shorter than this, one in ten is ten times as long. */
const MEDIAN_OUTPUT = 1_500;
const SPREAD = 1.8;
const LONGEST_OUTPUT = 60_000;

/** No output is more than this share of the body, so that small bodies have steps too. */
const LARGEST_SHARE = 1 / 6;
const LEAST_OUTPUT = 200;

/**
 * A body smaller than this is of an agent with one tool, whose definition leaves room for messages.
 */
const SMALL_BODY = 10_000;

/**
 * Bytes in a body for each character of an output: quotes and line breaks are escaped there, and a
 * call goes with it.
 */
const BYTES_PER_CHARACTER = 1.25;

/** What little is missing at the end is left out. */
const CLOSE_ENOUGH = 0.98;

/**
 * Makes a conversation.
 *
 * @param bytes about how long its body is to be, from 2 000 on; the body is up to a tenth longer or
 *   shorter
 */
export function makeConversation(bytes: number = DEFAULT_BYTES, seed = 1): Conversation {
  const random = new Random(seed);
  const usable: typeof tools = bytes < SMALL_BODY ? [tools[0]] : tools;
  const conversation = {
    model: MODEL,
    tools: usable.map(definitionOf),
    messages: [systemMessage(random, bytes)],
  };
  const { messages } = conversation;
  let size = bodyOf(conversation).length;
  const add = (message: Message): void => {
    messages.push(message);
    size += Buffer.byteLength(JSON.stringify(message)) + 1;
  };
  for (;;) {
    add(userMessage(random));
    for (let steps = random.int(5, 15); steps > 0; steps--) {
      const most = Math.max(LEAST_OUTPUT, (bytes - size) / BYTES_PER_CHARACTER - LEAST_OUTPUT);
      const limit = Math.min(most, bytes * LARGEST_SHARE, LONGEST_OUTPUT);
      for (const message of step(random, usable, limit)) add(message);
      if (size >= bytes * CLOSE_ENOUGH) return conversation;
    }
    add({ role: 'assistant', content: remark(random) });
  }
}

/**
 * One step more, as an agent's next request has it: a file that is read, which nobody has seen
 * before.
 *
 * @param characters of the output
 */
export function nextStep(characters: number, seed: number): Message[] {
  const random = new Random(seed ^ 0x5e9);
  return callAndOutput(random, [tools[0]], () => characters);
}

/**
 * The body of the request.
 *
 * @param more messages after those of the conversation
 * @param fields that stand before all others
 */
export function bodyOf(
  conversation: Conversation,
  more: readonly Message[] = [],
  fields: object = {},
): Uint8Array {
  const { messages, ...rest } = conversation;
  return Buffer.from(JSON.stringify({ ...fields, ...rest, messages: [...messages, ...more] }));
}

function definitionOf({ name, description, parameters }: Tool): object {
  return { type: 'function', function: { name, description, parameters, strict: true } };
}

function systemMessage(random: Random, bytes: number): Message {
  const rules = Array.from(
    { length: Math.min(40, Math.floor(bytes / 2_000)) },
    (_, index) => `${index + 1}. Never change a ${word(random)} without its ${word(random)}.`,
  );
  return { role: 'system', content: ['You work on the repository of a shop.', ...rules].join('\n') };
}

function userMessage(random: Random): Message {
  return {
    role: 'user',
    content: `In ${pathOf(random)} the ${word(random)} is wrong when a ${word(random)} has no ${word(random)} — customers in Zürich and 東京 see it. Please find out why, and fix it.`,
  };
}

/** Mostly one call, sometimes two or three at once. */
function step(random: Random, usable: typeof tools, limit: number): Message[] {
  const count = random.chance(0.85) ? 1 : random.int(2, 3);
  const called = Array.from({ length: count }, () => random.pick(usable));
  return callAndOutput(random, called, () =>
    Math.min(limit / count, Math.max(20, random.length(MEDIAN_OUTPUT, SPREAD))),
  );
}

function callAndOutput(random: Random, called: readonly Tool[], length: () => number): Message[] {
  const calls = called.map(
    (tool): Call => ({
      id: `call_${random.hex(24)}`,
      type: 'function',
      function: { name: tool.name, arguments: JSON.stringify(tool.input(random)) },
    }),
  );
  return [
    { role: 'assistant', content: random.chance(0.4) ? remark(random) : null, tool_calls: calls },
    ...called.map(
      (tool, index): Message => ({
        role: 'tool',
        tool_call_id: calls[index]?.id ?? '',
        content: tool.output(random, length()),
      }),
    ),
  ];
}

function remark(random: Random): string {
  return `The ${word(random)} goes through \`${identifier(random)}\`, which drops the ${word(random)}. I look at ${pathOf(random)} next.`;
}
