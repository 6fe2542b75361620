/**
 * An agent of a model that signs its thinking: it uses the `openai` client, calls tools, and sends
 * back all that it was given, as clients of the gateways do.
 */
import type OpenAI from 'openai';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { Dialect } from '../../../tools/upstream/bound-thinking.ts';
import type { Answer } from '../../../tools/upstream/completion.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { rows, tools } from './agent-run.ts';

type Json = Record<string, unknown>;

/** One request, as its caller saw it. */
export interface Answered {
  /** Not of an upstream that is asked directly. */
  readonly memory: Report;
  /** The elements that the answer has added to the array. */
  readonly added: readonly Json[];
  /** Tokens of reasoning that were billed for it. Absent over chat. */
  readonly thought?: number;
}

export interface ThinkingAgentOptions {
  readonly dialect: Dialect;
  /** `'in turn'`: every other answer, the first one too. */
  readonly stream: boolean | 'in turn';
  /** Fields of each body. */
  readonly fields: Json;
  /** Lines of a tool's output. */
  readonly lines?: number;
}

/** Fields that only Precis takes. */
const NOT_OURS = { memory_report: undefined, memory_strategy: undefined, conversation_id: undefined };

export class ThinkingAgent {
  readonly array: Json[] = [];
  private client: OpenAI;
  private readonly options: ThinkingAgentOptions;
  private asked = 0;

  constructor(client: OpenAI, options: ThinkingAgentOptions) {
    this.client = client;
    this.options = options;
    if (!this.isResponses) this.array.push({ role: 'system', content: 'You weigh things.' });
  }

  private get isResponses(): boolean {
    return this.options.dialect === 'responses';
  }

  /** Asks, and answers the model's calls until it has finished. @throws the client's error */
  async turn(question: string, more: Json = {}): Promise<Answered[]> {
    this.array.push({ role: 'user', content: question });
    const answers: Answered[] = [];
    for (;;) {
      const answered = await this.ask(more);
      answers.push(answered);
      const calls = this.callsOf(answered.added);
      if (calls.length === 0) return answers;
      for (const id of calls) this.array.push(this.resultOf(id));
    }
  }

  /** Sends nothing back of what was thought until now. */
  forgetThinking(): void {
    const rest = this.array
      .filter(({ type }) => type !== 'reasoning')
      .map(
        ({
          reasoning,
          reasoning_content,
          reasoning_details,
          thinking_blocks,
          provider_specific_fields,
          ...element
        }) => element,
      );
    this.array.splice(0, this.array.length, ...rest);
  }

  /** A turn without Precis. @param client of the upstream */
  async turnElsewhere(question: string, client: OpenAI): Promise<void> {
    const own = this.client;
    this.client = client;
    await this.turn(question, NOT_OURS).finally(() => {
      this.client = own;
    });
  }

  /** One request. */
  async ask(more: Json = {}): Promise<Answered> {
    const { stream: asks } = this.options;
    const stream = asks === 'in turn' ? this.asked++ % 2 === 0 : asks;
    const answered = this.isResponses ? await this.respond(more, stream) : await this.complete(more, stream);
    this.array.push(...answered.added);
    return answered;
  }

  private async complete(more: Json, stream: boolean): Promise<Answered> {
    const { fields } = this.options;
    const body = { model: '', tools, memory_report: true, stream, ...fields, ...more, messages: this.array };
    const answer = (await this.client.chat.completions.create(body as never)) as unknown;
    if (!stream) {
      const { choices, memory } = answer as { choices: { message: Json }[]; memory: Report };
      return { memory, added: [choices[0]?.message ?? {}] };
    }
    let memory: Report | undefined;
    const message: Json = { role: 'assistant' };
    for await (const chunk of answer as AsyncIterable<Json>) {
      if (chunk.memory) memory = chunk.memory as Report;
      const [choice] = chunk.choices as { delta: Json }[];
      if (choice) join(message, choice.delta);
    }
    return { memory: memory as Report, added: [message] };
  }

  private async respond(more: Json, stream: boolean): Promise<Answered> {
    const { fields } = this.options;
    const body = {
      model: '',
      instructions: 'You weigh things.',
      tools: tools.map(({ function: tool }) => ({ type: 'function', ...tool, strict: false })),
      include: ['reasoning.encrypted_content'],
      store: false,
      memory_report: true,
      stream,
      ...fields,
      ...more,
      input: this.array,
    };
    const answer = (await this.client.responses.create(body as never)) as unknown;
    let whole = answer as Json;
    if (stream)
      for await (const event of answer as AsyncIterable<Json>) {
        if (event.type === 'error' || event.type === 'response.failed')
          throw new Error(JSON.stringify(event));
        if (event.type === 'response.completed') whole = event.response as Json;
      }
    const usage = whole.usage as { output_tokens_details: { reasoning_tokens: number } };
    const { reasoning_tokens: thought } = usage.output_tokens_details;
    return { memory: whole.memory as Report, added: whole.output as Json[], thought };
  }

  private callsOf(added: readonly Json[]): string[] {
    if (this.isResponses)
      return added.flatMap(({ type, call_id }) => (type === 'function_call' ? [String(call_id)] : []));
    return added.flatMap(({ tool_calls }) => ((tool_calls ?? []) as { id: string }[]).map(({ id }) => id));
  }

  private resultOf(id: string): Json {
    const output = rows(id, this.options.lines ?? 60);
    return this.isResponses
      ? { type: 'function_call_output', call_id: id, output }
      : { role: 'tool', tool_call_id: id, content: output };
  }
}

/** Adds a delta to a message, as clients of OpenRouter and LiteLLM do. */
function join(message: Json, delta: Json): void {
  for (const [key, value] of Object.entries(delta)) {
    const known = message[key];
    if (value === null || key === 'role') continue;
    if (key === 'tool_calls') joinByIndex(message, key, value as Json[], joinCall);
    else if (key === 'reasoning_details') joinByIndex(message, key, value as Json[], joinTexts);
    else if (key === 'thinking_blocks') joinBlocks(message, value as Json[]);
    else if (typeof value === 'string') message[key] = `${known ?? ''}${value}`;
  }
}

function joinByIndex(
  message: Json,
  key: string,
  pieces: readonly Json[],
  joined: (known: Json, piece: Json) => Json,
): void {
  const list = (message[key] ?? []) as Json[];
  message[key] = list;
  for (const piece of pieces) {
    const at = list.findIndex(({ index }) => index === piece.index);
    if (at < 0) list.push({ ...piece });
    else list[at] = joined(list[at] ?? {}, piece);
  }
}

function joinTexts(known: Json, piece: Json): Json {
  const text = `${known.text ?? ''}${piece.text ?? ''}`;
  return { ...known, ...piece, text };
}

function joinCall(known: Json, piece: Json): Json {
  const { name, arguments: more } = (piece.function ?? {}) as Json;
  const called = known.function as Json;
  return {
    ...known,
    function: { name: called.name ?? name, arguments: `${called.arguments ?? ''}${more ?? ''}` },
  };
}

/** LiteLLM's blocks end with their signature. */
function joinBlocks(message: Json, pieces: readonly Json[]): void {
  const list = (message.thinking_blocks ?? []) as Json[];
  message.thinking_blocks = list;
  for (const piece of pieces) {
    const last = list.at(-1);
    if (!last || last.signature) list.push({ ...piece });
    else {
      last.thinking = `${last.thinking}${piece.thinking}`;
      last.signature = piece.signature;
    }
  }
}

/**
 * A model that calls a tool so often in each turn, and fetches one ref in each where it can. It
 * counts its answers itself, since a view need not show them.
 */
export function workingModel(steps: number): (body: RecordedRequest['body']) => Answer {
  const answers = new Map<string, number>();
  const fetched = new Set<string>();
  let calls = 0;
  return (body) => {
    const elements = (body.messages ?? body.input) as Json[];
    const said = JSON.stringify(elements);
    const question = String(said.match(/number \d+ weigh/g)?.at(-1));
    const made = answers.get(question) ?? 0;
    const [ref] = /ref_[a-z2-7]{26}/.exec(said) ?? [];
    const id = `call_${++calls}`;
    if (made >= steps) return { content: `I have weighed it: ${question}.` };
    if (ref && made > 0 && !fetched.has(question) && JSON.stringify(body.tools).includes('retrieve_ref')) {
      fetched.add(question);
      return { toolCalls: [{ id, name: 'retrieve_ref', arguments: JSON.stringify({ ref }) }] };
    }
    answers.set(question, made + 1);
    return { content: 'I look.', toolCalls: [{ id, name: 'search', arguments: `{"at":${calls}}` }] };
  };
}
