/**
 * Generates the long conversation of a coding agent from a seed: turns of several steps, with tool
 * outputs of all kinds and lengths.
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
  /** Ends with the results of a step, so it is a request for the next one. */
  readonly messages: readonly Message[];
}

const MODEL = 'gpt-4.1';

/** Characters of an output: the median; one in ten is ten times as long. */
const MEDIAN_OUTPUT = 1_500;
const SPREAD = 1.8;
const LONGEST_OUTPUT = 60_000;

/** An output's largest share of the body, so that small bodies have several steps. */
const LARGEST_SHARE = 1 / 6;
const LEAST_OUTPUT = 200;

/** In bytes. Below this an agent has only one tool, to leave room for messages. */
const SMALL_BODY = 10_000;

/** Bytes of a body per character of an output, including escapes and the call. */
const BYTES_PER_CHARACTER = 1.25;

/** A conversation ends when it has this share of its bytes. */
const CLOSE_ENOUGH = 0.98;

/**
 * Generates a conversation.
 *
 * @param bytes length of the body, to within a tenth; at least 2,000
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
 * The next step of an agent: it reads a file that has not come up before.
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
 * @param more messages after the conversation's own
 * @param fields put before all others
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

/** Mostly one call, sometimes two or three. */
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
