/** A summarizer that tests can block and fail, and a caller that continues a conversation. */

import { afterAll, beforeEach } from 'vitest';
import type { Memory } from '../../../src/storage/conversation/memories.ts';
import { HEADINGS, NONE } from '../../../src/summary/text/headings.ts';
import { refuse, sendJson } from '../../../tools/upstream/behaviours.ts';
import { completion, usageOf } from '../../../tools/upstream/completion.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { startUpstream } from '../../../tools/upstream/upstream.ts';
import type { Deployment } from './deployment.ts';
import type { WithMemory } from './memory-report.ts';
import { until } from './polling.ts';

/** The summarizer's own key. */
export const SUMMARIZER_KEY = 'sk-the-key-of-the-test-summarizer';

export interface RollingSummarizer {
  /** Variables that make a Worker use it. */
  readonly vars: Record<string, string>;
  readonly requests: RecordedRequest[];
  /** Its prompts so far, without the rules. */
  prompts(): string[];
  /** Blocks all calls until the returned function is called. */
  hold(): () => void;
  /** Fails all calls until `work` is called. */
  fail(status?: number): void;
  work(): void;
  /** What the next summary says instead of its number. */
  say(words: string): void;
}

const summaryOf = (words: string): string =>
  HEADINGS.map((heading, at) => `${heading}\n${at === 0 ? words : NONE}`).join('\n\n');

/** For the tests of a file. It keeps the requests of the current test. */
export async function startRollingSummarizer(): Promise<RollingSummarizer> {
  let held: Promise<void> | undefined;
  let status = 200;
  let summaries = 0;
  let words: string | undefined;
  const server = await startUpstream({
    chat: async (_, response, recorded) => {
      await held;
      if (status !== 200) return refuse(response, status, 'The summarizer is down.');
      summaries += 1;
      const frame = { id: 'chatcmpl-summary', model: String(recorded.body.model), usage: usageOf(100, 20) };
      const content = summaryOf(words ?? `This is summary number ${summaries}.`);
      words = undefined;
      return sendJson(response, completion({ content }, frame));
    },
  });
  beforeEach(() => {
    server.requests.length = 0;
  });
  afterAll(() => server.close());
  return {
    vars: {
      SUMMARIZER_BASE_URL: server.url,
      SUMMARIZER_MODEL: 'gpt-4.1-nano',
      SUMMARIZER_API_KEY: SUMMARIZER_KEY,
    },
    requests: server.requests,
    prompts: () => server.requests.map(({ body }) => String(body.messages[1].content)),
    hold() {
      let release = (): void => undefined;
      held = new Promise((resolve) => {
        release = () => {
          held = undefined;
          resolve();
        };
      });
      return release;
    },
    fail(failing = 500) {
      status = failing;
    },
    work() {
      status = 200;
    },
    say(said) {
      words = said;
    },
  };
}

type Message = Record<string, unknown>;

export interface Said extends Required<WithMemory> {
  readonly response: Response;
  /** The messages that went upstream. */
  readonly view: Message[];
}

/** A question with more tokens than any summary of it. */
export const question = (n: number): string =>
  [
    `Question ${n}: what follows from these lines?`,
    ...Array.from({ length: 40 }, (_, at) => `The ${at}th line of question ${n} weighs ${at * 7919 + n}.`),
  ].join('\n');

/** A caller that keeps its array and sends all of it every time. */
export class Talk {
  readonly messages: Message[] = [{ role: 'system', content: 'You help.' }];
  readonly fields: Message;
  private readonly deployment: Deployment;
  private readonly headers: Record<string, string>;

  /** @param fields of each body, beside model and messages */
  constructor(deployment: Deployment, fields: Message, headers: Record<string, string> = {}) {
    this.deployment = deployment;
    this.fields = fields;
    this.headers = headers;
  }

  /** Appends messages and asks for the answer, without appending it. */
  async send(added: readonly Message[], more: Message = {}): Promise<Said & { answer: Message }> {
    this.messages.push(...added);
    const { fields, messages } = this;
    const body = { model: 'gpt-4.1-mini', memory_report: true, ...fields, ...more, messages };
    const response = await this.deployment.chat(body, this.headers);
    const text = await response.text();
    const { answer, memory } = text.startsWith('data:') ? readStream(text) : readWhole(text);
    return { response, memory, answer, view: this.deployment.lastChat().body.messages };
  }

  /** One round: appends a question and its answer, in the caller's form. */
  async ask(
    content: string,
    more: Message = {},
    append = (message: Message): Message => message,
  ): Promise<Said> {
    const said = await this.send([{ role: 'user', content }], more);
    this.messages.push(append(said.answer));
    return said;
  }

  /**
   * Rounds with questions of these numbers. From round `due` on, waits for each memory before the
   * next round.
   */
  async rounds(from: number, to: number, due = 3): Promise<Said[]> {
    const said: Said[] = [];
    for (let n = from; n <= to; n++) {
      said.push(await this.ask(question(n)));
      if (n >= due) await this.remembered(n - due + 1);
    }
    return said;
  }

  /** Waits until this many memories are made, and none is being made. */
  async remembered(count: number): Promise<void> {
    await until(`${count} memories are made`, async () => {
      const memories = await this.memories();
      const made = memories.filter(({ status }) => status === 'completed').length;
      return made >= count && !memories.some(({ status }) => status === 'processing');
    });
  }

  /** Oldest first. */
  async memories(): Promise<Memory[]> {
    return ((await this.stored())?.memories ?? []).toReversed();
  }

  /** Deletes the conversation, so that nothing more is made of it. */
  async forget(): Promise<void> {
    await this.memory({ method: 'DELETE' });
  }

  /** `GET /v1/conversations/{id}/memory`; undefined if there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into all of it
  async stored(): Promise<any> {
    const response = await this.memory({});
    return response.ok ? response.json() : undefined;
  }

  private memory(init: RequestInit): Promise<Response> {
    const id = encodeURIComponent(String(this.fields.conversation_id));
    const user = this.fields.user === undefined ? {} : { 'x-memory-user': String(this.fields.user) };
    const headers = { ...this.headers, ...user };
    return this.deployment.fetch(`/v1/conversations/${id}/memory`, { ...init, headers });
  }
}

interface Read extends Required<WithMemory> {
  readonly answer: Message;
}

function readWhole(text: string): Read {
  const { choices, memory } = JSON.parse(text);
  return { answer: choices?.[0]?.message, memory };
}

function readStream(text: string): Read {
  const data = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  const content = data.map(({ choices }) => choices[0]?.delta?.content ?? '').join('');
  return { answer: { role: 'assistant', content }, memory: data.find(({ memory }) => memory)?.memory };
}
