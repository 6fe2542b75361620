/** The clients of Anthropic's API, unchanged but for their base URL. */
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { tool as langchainTool } from '@langchain/core/tools';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import AnthropicBefore from 'anthropic-sdk-0';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { MessagesBehaviour } from '../../../tools/upstream/messages-upstream.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const MODEL = 'claude-opus-5-5';
const PAGES = 8;
const TASK = 'Read all pages.';
const DONE = `I have read ${PAGES} pages.`;
const pageOf = (page: number): string => `a line of page ${page}\n`.repeat(300);

const STRATEGY = JSON.stringify({ mode: 'compact', token_budget: 3_000, compact_trigger_steps: 2 });
const HEADERS = { 'x-memory-strategy': STRATEGY };

/** Reads page after page, then answers. */
const READER: MessagesBehaviour = {
  type: 'model',
  answer({ messages }) {
    const page = messages.filter(({ role }: Json) => role === 'assistant').length + 1;
    if (page > PAGES) return { content: DONE };
    return {
      content: `Page ${page} is next.`,
      toolCalls: [{ id: `toolu_${page}`, name: 'read_page', arguments: JSON.stringify({ page }) }],
    };
  },
};

const deployment = deployMessages({ upstream: { thinks: true, messages: READER }, refuses: true });

const PARAMETERS = {
  type: 'object' as const,
  properties: { page: { type: 'number' as const } },
  required: ['page'],
};
const DESCRIPTION = 'Reads a page.';

/** What the upstream has seen after a run. */
function expectViews(): void {
  expect(deployment.upstream.refusals).toEqual([]);
  const seen = deployment.upstream.messages();
  expect(seen).toHaveLength(PAGES + 1);
  expect(JSON.stringify(seen.at(-1)?.body.messages)).toMatch(/ref=ref_\w+/);
}

describe.each([
  ['@anthropic-ai/sdk 1', Anthropic],
  ['@anthropic-ai/sdk 0', AnthropicBefore as unknown as typeof Anthropic],
])('%s', (_, Client) => {
  const client = (more: object = {}) =>
    new Client({ baseURL: deployment.url, apiKey: MESSAGES_KEY, maxRetries: 0, ...more });

  it.each(ofTurn(1, [false, true]))('runs a loop with tools and thinking; streamed: %s', async (stream) => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: TASK }];
    let said = '';
    for (;;) {
      const params = {
        model: MODEL,
        max_tokens: 8_000,
        thinking: { type: 'adaptive' as const },
        tools: [{ name: 'read_page', description: DESCRIPTION, input_schema: PARAMETERS }],
        messages,
      };
      const options = { headers: HEADERS };
      const message = stream
        ? await client().messages.stream(params, options).finalMessage()
        : await client().messages.create(params, options);
      expect(message.content[0]).toMatchObject({ type: 'thinking', signature: expect.any(String) });
      messages.push({ role: 'assistant', content: message.content });
      const uses = message.content.filter((block) => block.type === 'tool_use');
      said = message.content.find((block) => block.type === 'text')?.text ?? '';
      if (message.stop_reason !== 'tool_use') break;
      messages.push({
        role: 'user',
        content: uses.map(({ id, input }) => ({
          type: 'tool_result' as const,
          tool_use_id: id,
          content: pageOf((input as { page: number }).page),
        })),
      });
    }
    expect(said).toBe(DONE);
    expectViews();
  });

  it('gets errors as its classes, the upstream’s and Precis’s', async () => {
    const ask = (more: object = {}, options: object = {}) =>
      client(options).messages.create({
        model: MODEL,
        max_tokens: 9,
        messages: [{ role: 'user', content: TASK }],
        ...more,
      });
    const error = (status: number, type: string): MessagesBehaviour => ({
      type: 'error',
      status,
      body: { type: 'error', error: { type, message: type }, request_id: 'req_9' },
    });
    deployment.upstream.next(error(429, 'rate_limit_error'), error(529, 'overloaded_error'));
    await expect(ask()).rejects.toBeInstanceOf(Client.RateLimitError);
    await expect(ask()).rejects.toMatchObject({ status: 529, requestID: expect.stringMatching(/^req_/) });
    const ours = await ask({ memory_strategy: 'nonsense' }).catch((fault: unknown) => fault);
    expect(ours).toBeInstanceOf(Client.BadRequestError);
    expect(ours).toMatchObject({ requestID: expect.stringMatching(/^req_[0-9a-f]{32}$/) });
    const wrongKey = ask({}, { apiKey: 'sk-invalid-key-of-nobody' });
    await expect(wrongKey).rejects.toBeInstanceOf(Client.AuthenticationError);
  });

  it('tries again by itself', async () => {
    deployment.upstream.next({
      type: 'error',
      status: 529,
      headers: { 'retry-after-ms': '1', 'x-should-retry': 'true' },
    });
    const message = await client({ maxRetries: 1 }).messages.create({
      model: MODEL,
      max_tokens: 9,
      messages: [{ role: 'user', content: TASK }],
    });
    expect(message.type).toBe('message');
    expect(deployment.upstream.messages()).toHaveLength(2);
  });

  it('counts tokens and lists models', async () => {
    const messages = [{ role: 'user' as const, content: TASK }];
    const { input_tokens } = await client().messages.countTokens({ model: MODEL, messages });
    expect(input_tokens).toBeGreaterThan(0);
    const ids: string[] = [];
    for await (const { id } of client().models.list({ limit: 1_000 })) ids.push(id);
    expect(ids).toContain(MODEL);
  });

  it('reads an error inside a stream, and a bearer token as its key', async () => {
    const bearer = client({ apiKey: null, authToken: MESSAGES_KEY });
    deployment.upstream.next((_recorded, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      );
    });
    const params = { model: MODEL, max_tokens: 9, messages: [{ role: 'user' as const, content: TASK }] };
    await expect(bearer.messages.stream(params).finalMessage()).rejects.toBeInstanceOf(Client.APIError);
    expect((await bearer.messages.stream(params).finalMessage()).role).toBe('assistant');
    expect(deployment.upstream.messages().at(-1)?.headers.authorization).toBe(`Bearer ${MESSAGES_KEY}`);
  });
});

describe('@ai-sdk/anthropic', () => {
  const model = () =>
    createAnthropic({ baseURL: `${deployment.url}/v1`, apiKey: MESSAGES_KEY, headers: HEADERS })(MODEL);
  const options = () => ({
    model: model(),
    prompt: TASK,
    maxRetries: 0,
    stopWhen: stepCountIs(30),
    tools: {
      read_page: tool({
        description: DESCRIPTION,
        inputSchema: jsonSchema<{ page: number }>(PARAMETERS),
        execute: ({ page }) => pageOf(page),
      }),
    },
  });

  it('runs its loop', async () => {
    expect((await generateText(options())).text).toBe(DONE);
    expectViews();
  });

  it('streams its loop', async () => {
    let said = '';
    for await (const part of streamText(options()).fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') said += part.text;
    }
    expect(said.endsWith(DONE)).toBe(true);
    expectViews();
  });
});

describe('LangChain’s ChatAnthropic', () => {
  it.each(ofTurn(0, [false, true]))('runs a loop with tools; streamed: %s', async (streaming) => {
    const readPage = langchainTool(({ page }: { page: number }) => pageOf(page), {
      name: 'read_page',
      description: DESCRIPTION,
      schema: z.object({ page: z.number() }),
    });
    const model = new ChatAnthropic({
      model: MODEL,
      apiKey: MESSAGES_KEY,
      anthropicApiUrl: deployment.url,
      maxTokens: 8_000,
      maxRetries: 0,
      streaming,
      clientOptions: { defaultHeaders: HEADERS },
    }).bindTools([readPage]);
    const messages: unknown[] = [{ role: 'user', content: TASK }];
    for (;;) {
      const answer = await model.invoke(messages as never);
      messages.push(answer);
      const { tool_calls = [] } = answer;
      if (tool_calls.length === 0) break;
      for (const call of tool_calls) messages.push(await readPage.invoke(call as never));
    }
    expect(JSON.stringify(messages.at(-1))).toContain(DONE);
    expectViews();
  });
});
