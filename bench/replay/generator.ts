/**
 * Generates conversations for use without recordings. They differ in what matters to replays:
 * outputs of very different lengths, parallel calls, images, and an agent that returns to earlier
 * values such as an order's id, a path or a trace.
 */
import { Random } from '../random.ts';
import type { ReuseTrace } from '../reuse.ts';
import { identifier, pathOf, type Tool, tools, word } from '../tools.ts';
import type { ChatJson } from './conversation.ts';
import { findReuse, literalsIn } from './find-reuse.ts';
import { KINDS, type Kind } from './kinds.ts';

const CONVERSATIONS = 6;

/** How many messages back an agent goes: the median; one time in forty it is seven times as far. */
const MEDIAN_DISTANCE = 20;
const DISTANCE_SPREAD = 1;

/** Characters of an image's base64. */
const SMALLEST_IMAGE = 20_000;
const LARGEST_IMAGE = 80_000;

/** A few conversations of each kind. */
export function makeTraces(seed = 1): ReuseTrace[] {
  return KINDS.flatMap((kind, row) =>
    Array.from({ length: CONVERSATIONS }, (_, index) =>
      makeTrace(kind, (index + 0.5) / CONVERSATIONS, new Random(seed * 1_000 + row * 100 + index)),
    ),
  );
}

/** @param size from the shortest conversation of its kind (0) to the longest (1) */
function makeTrace(kind: Kind, size: number, random: Random): ReuseTrace {
  const usable = kind.tools.map(toolOf);
  const messages = new Maker(kind, random, usable).make(size);
  return {
    file: kind.name,
    tools: [...new Set([...usable, toolOf('write_file')])].map(definitionOf),
    messages,
    reuse: findReuse(messages),
  };
}

/**
 * Probability that an agent returns to a value it has named itself, rather than to one that it has
 * only read.
 */
const OWN_WORDS = 0.5;

/** A value that the agent may return to, from a tool's output or its own words. */
interface Seen {
  readonly message: number;
  readonly literals: readonly string[];
}

interface PlannedCall {
  readonly tool: Tool;
  readonly input: object;
}

class Maker {
  private readonly kind: Kind;
  private readonly random: Random;
  private readonly usable: readonly Tool[];
  private readonly messages: ChatJson[] = [];
  private readonly printed: Seen[] = [];
  private readonly named: Seen[] = [];

  constructor(kind: Kind, random: Random, usable: readonly Tool[]) {
    this.kind = kind;
    this.random = random;
    this.usable = usable;
  }

  make(size: number): ChatJson[] {
    const { kind, random, messages } = this;
    const turns = random.int(...kind.turns);
    const steps = between(kind.steps, size);
    if (kind.preamble > 0) messages.push({ role: 'system', content: rules(random, kind.preamble) });
    for (let turn = 0; turn < turns; turn++) {
      messages.push(this.userMessage(turn === 0));
      // Spread the steps over the turns.
      const until = Math.round((steps * (turn + 1)) / turns);
      for (let step = Math.round((steps * turn) / turns); step < until; step++) this.step();
      messages.push({ role: 'assistant', content: remark(random) });
    }
    return messages;
  }

  private userMessage(first: boolean): ChatJson {
    const { random, kind } = this;
    const text = request(random);
    const hasImage = kind.images > 0 && (first || random.chance(kind.images));
    if (!hasImage) return { role: 'user', content: text };
    const url = `data:image/png;base64,${base64(random, random.int(SMALLEST_IMAGE, LARGEST_IMAGE))}`;
    return {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image_url', image_url: { url } },
      ],
    };
  }

  private step(): void {
    const { kind, random, messages } = this;
    const calls = Array.from({ length: kind.calls(random) }, (_, index) => ({
      id: `call_${random.hex(24)}`,
      ...(index === 0 ? this.firstCall() : this.anyCall()),
    }));
    messages.push({
      role: 'assistant',
      content: random.chance(0.4) ? remark(random, this.nameSomething()) : null,
      tool_calls: calls.map(({ id, tool, input }) => ({
        id,
        type: 'function',
        function: { name: tool.name, arguments: JSON.stringify(input) },
      })),
    });
    for (const { id, tool } of calls) {
      const content = tool.output(random, kind.output(random));
      messages.push({ role: 'tool', tool_call_id: id, content });
      this.printed.push({ message: messages.length - 1, literals: [...literalsIn(content)] });
    }
  }

  private firstCall(): PlannedCall {
    const { kind, random } = this;
    const known = random.chance(kind.recall) ? this.remembered() : undefined;
    if (known !== undefined) {
      this.named.push({ message: this.messages.length, literals: [known] });
      return lookUp(known, random);
    }
    const length = kind.written(random);
    if (length === 0) return this.anyCall();
    const content = toolOf('read_file').output(random, length);
    return { tool: toolOf('write_file'), input: { path: pathOf(random), content } };
  }

  private anyCall(): PlannedCall {
    const { usable, random } = this;
    const tool = usable[random.int(0, usable.length - 1)] ?? toolOf('read_file');
    return { tool, input: tool.input(random) };
  }

  /** A value from the last output, in the agent's own words. */
  private nameSomething(): string | undefined {
    const literal = this.oneOf(this.printed.at(-1));
    if (literal !== undefined) this.named.push({ message: this.messages.length, literals: [literal] });
    return literal;
  }

  /** An older value. */
  private remembered(): string | undefined {
    const { random, messages } = this;
    const from = random.chance(OWN_WORDS) ? this.named : this.printed;
    const at = messages.length - Math.max(1, random.length(MEDIAN_DISTANCE, DISTANCE_SPREAD));
    return this.oneOf(from.findLast(({ message }) => message <= at));
  }

  /** Prefers the values at the beginning of a text. */
  private oneOf(seen: Seen | undefined): string | undefined {
    const literals = seen?.literals ?? [];
    return literals[Math.floor(literals.length * this.random.next() ** 1.5)];
  }
}

/** A call that asks about a known value. */
function lookUp(literal: string, random: Random): PlannedCall {
  if (literal.startsWith('src/')) return { tool: toolOf('read_file'), input: { path: literal } };
  if (/^[0-9a-f]{32}$/.test(literal))
    return { tool: toolOf('read_logs'), input: { service: word(random), since: `trace=${literal}` } };
  const field = literal.startsWith('ord_') ? 'id' : literal.includes('@') ? 'customer.email' : 'total';
  return { tool: toolOf('query_orders'), input: { filter: `${field} = '${literal}'`, limit: '1' } };
}

/** Interpolates geometrically. */
function between([least, most]: readonly [number, number], share: number): number {
  return Math.round(least * (most / least) ** share);
}

function toolOf(name: string): Tool {
  const tool = tools.find((tool) => tool.name === name);
  if (!tool) throw new Error(`there is no tool ${name}`);
  return tool;
}

function definitionOf({ name, description, parameters }: Tool): object {
  return { type: 'function', function: { name, description, parameters, strict: true } };
}

function rules(random: Random, characters: number): string {
  const lines = ['You help the customers and the colleagues of a shop.'];
  for (let length = 0; length < characters; length += lines.at(-1)?.length ?? 0)
    lines.push(`${lines.length}. Never change a ${word(random)} without its ${word(random)}.`);
  return lines.join('\n');
}

function request(random: Random): string {
  return `The ${word(random)} of my ${word(random)} is not what the ${word(random)} says. Please look at it, and tell me what becomes of the ${word(random)}.`;
}

function remark(random: Random, about = `the ${word(random)}`): string {
  return `The ${word(random)} goes through \`${identifier(random)}\`, which needs the ${word(random)}. Next is ${about}.`;
}

function base64(random: Random, characters: number): string {
  return Buffer.from(random.hex(Math.ceil((characters * 3) / 2)), 'hex').toString('base64');
}
