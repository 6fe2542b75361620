/**
 * Turns with tools that the API runs: paused ones, and others with calls of Precis's tools beside
 * them.
 */
import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';
import { definitionOf } from '../../../src/retrieval/tool.ts';
import { refsIn } from '../../support/clients/agent-caller.ts';
import { rows } from '../../support/clients/agent-run.ts';
import { inBothForms } from '../../support/deployment/in-turn.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;
type Params = Anthropic.MessageParam[];

const deployment = deployMessages({ upstream: { thinks: true } });

const FETCH = definitionOf('retrieve_ref').function.name;
const STRATEGY = { mode: 'compact', token_budget: 3_000, compact_keep: 0, compact_retrieval: 'tool' };
const CONVERSATION = [
  { role: 'user', content: 'What do apples weigh?' },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'toolu_a', name: 'search', input: { of: 'apples' } }],
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_a', content: rows('apples', 300) }],
  },
  { role: 'assistant', content: 'A lot.' },
  { role: 'user', content: 'And the seventh, and pears?' },
] as Params;

const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'pears' } };
const result = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
const said = (text: string): Json => ({ type: 'text', text });

let conversations = 0;

/** One conversation with the client of the API. */
class Caller {
  readonly messages: Params = [...CONVERSATION];
  private readonly stream: boolean;
  private readonly more: Json;
  private readonly name = `paused-${++conversations}`;
  private readonly client = new Anthropic({ baseURL: deployment.url, apiKey: MESSAGES_KEY, maxRetries: 0 });

  constructor(stream: boolean, more: Json = {}) {
    this.stream = stream;
    this.more = more;
  }

  /** Asks, and appends the answer as it is. */
  async ask(...more: Params): Promise<Anthropic.Message> {
    this.messages.push(...more);
    const params = {
      model: 'claude-opus-5-5',
      max_tokens: 1_000,
      tools: [
        { name: 'search', description: 'Searches.', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      memory_strategy: STRATEGY,
      conversation_id: this.name,
      messages: this.messages,
      ...this.more,
    } as unknown as Anthropic.MessageCreateParamsNonStreaming;
    const { messages } = this.client;
    const answer = this.stream ? await messages.stream(params).finalMessage() : await messages.create(params);
    this.messages.push({ role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] });
    return answer;
  }

  /** The ref in its view. */
  async refOf(): Promise<string> {
    await this.ask();
    this.messages.pop();
    const [ref = ''] = refsIn(sent(0));
    expect(ref).not.toBe('');
    deployment.upstream.requests.length = 0;
    return ref;
  }
}

const sent = (at: number): Json[] => deployment.upstream.messages()[at]?.body.messages ?? [];
const kinds = ({ content }: Json): unknown[] => (content as Json[]).map(({ type }) => type);

inBothForms('a turn with tools of the API', (stream) => {
  const call = (ref: string) => ({
    id: 'toolu_ours',
    name: FETCH,
    arguments: JSON.stringify({ ref, lines: '7-8' }),
  });

  it('runs its code in one container through all rounds, which the caller learns', async () => {
    const skills = [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }];
    const caller = new Caller(stream, { container: { skills } });
    const ref = await caller.refOf();
    const container = { id: 'container_1', expires_at: '2026-12-01T00:00:00Z', skills: null };
    const code = { ...use, name: 'code_execution', input: { code: 'f()' } };
    const ran = { type: 'code_execution_tool_result', tool_use_id: code.id, content: {} };
    deployment.upstream.next(
      { type: 'answer', blocks: [code, ran], toolCalls: [call(ref)], fields: { container } },
      { type: 'answer', toolCalls: [{ ...call(ref), id: 'toolu_again' }], fields: { container: null } },
      { type: 'answer', content: 'They weigh 7.', fields: { container: null } },
    );
    const ended = await caller.ask();
    expect((ended as unknown as Json).container).toEqual(container);
    const named = deployment.upstream.messages().map(({ body }) => body.container);
    expect(named).toEqual([{ skills }, { skills, id: 'container_1' }, { skills, id: 'container_1' }]);
  });

  it('continues after its pause, and after its end, below the rounds that it has had', async () => {
    const caller = new Caller(stream);
    const ref = await caller.refOf();
    deployment.upstream.next(
      { type: 'answer', content: 'Let me look.', toolCalls: [call(ref)] },
      { type: 'answer', content: 'Now the web.', blocks: [use], stopReason: 'pause_turn' },
      { type: 'answer', blocks: [result, said('They weigh 7 and 42.')] },
    );
    const paused = await caller.ask();
    expect(paused.stop_reason).toBe('pause_turn');
    const ended = await caller.ask();
    expect(ended.stop_reason).toBe('end_turn');
    await caller.ask({ role: 'user', content: 'And plums?' });

    const [, asked, resumed, next] = [sent(0), sent(1), sent(2), sent(3)];
    expect(resumed.slice(0, asked.length)).toEqual(asked);
    // What came before the call of Precis's tool is in its round.
    expect(resumed.slice(asked.length)).toEqual([{ role: 'assistant', content: paused.content.slice(2) }]);
    expect(kinds(resumed.at(-1) ?? {})).toEqual(['thinking', 'text', 'server_tool_use']);
    expect(next.slice(0, resumed.length)).toEqual(resumed);
    expect(next.slice(resumed.length)).toEqual([
      { role: 'assistant', content: ended.content },
      {
        role: 'user',
        content: [{ type: 'text', text: 'And plums?', cache_control: { type: 'ephemeral' } }],
      },
    ]);
    expect(ended.content.map(({ type }) => type)).toEqual(['thinking', 'web_search_tool_result', 'text']);
  });

  it('finds the rounds of a pause without words, and those after it', async () => {
    const caller = new Caller(stream);
    const ref = await caller.refOf();
    deployment.upstream.next(
      { type: 'answer', toolCalls: [call(ref)] },
      { type: 'answer', blocks: [use], stopReason: 'pause_turn' },
      { type: 'answer', blocks: [result], toolCalls: [{ ...call(ref), id: 'toolu_again' }] },
      { type: 'answer', content: 'They weigh 7 and 42.' },
    );
    await caller.ask();
    await caller.ask();
    await caller.ask({ role: 'user', content: 'And plums?' });
    const [resumed, again, next] = [sent(2), sent(3), sent(4)];
    expect(resumed.slice(0, sent(1).length)).toEqual(sent(1));
    expect(next.slice(0, again.length)).toEqual(again);
    expect(next.slice(again.length).map(({ role }) => role)).toEqual(['assistant', 'user']);
  });

  it('waits with a tool of the API for the results of Precis’s', async () => {
    const caller = new Caller(stream);
    const ref = await caller.refOf();
    deployment.upstream.next(
      { type: 'answer', content: 'Let me look.', blocks: [use], toolCalls: [call(ref)] },
      { type: 'answer', blocks: [result, said('They weigh 7 and 42.')] },
    );
    const { content } = await caller.ask();
    const seen = content.map(({ type }) => type).filter((type) => type !== 'thinking');
    expect(seen).toEqual(['text', 'server_tool_use', 'web_search_tool_result', 'text']);
    await caller.ask({ role: 'user', content: 'And plums?' });
    const [, resumed, next] = [sent(0), sent(1), sent(2)];
    expect(next.slice(0, resumed.length)).toEqual(resumed);
    expect(kinds(next.at(-2) ?? {})).toEqual(['thinking', 'web_search_tool_result', 'text']);
  });
});
