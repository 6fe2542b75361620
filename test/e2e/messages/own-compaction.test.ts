/**
 * Runs of agents in mode `native`, whose API summarizes on demand and signs what it has written, in
 * front of a model that thinks and binds what it thinks.
 */
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { MessagesBehaviour } from '../../../tools/upstream/messages-upstream.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import { PAGES, pageOf, READER, TOOL } from '../../support/clients/book-reader.ts';
import { ofTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const MODEL = 'claude-opus-5-5';
/** What is learned of it is learned of no other. */
const OTHER_MODEL = 'claude-opus-5-6';
const BETA = 'compact-2026-09-04';
const STRATEGY = { mode: 'native', compact_threshold: 3_000 };
/** Acts in the first turn. */
const SOON = { mode: 'native', compact_threshold: 1_500 };

const SYSTEM = [{ type: 'text' as const, text: 'You read books, page by page.' }];

const OPTIONS = { upstream: { thinks: true, messages: READER }, limits: { longestSummaryPauseMs: 50 } };
const deployment = deployMessages(OPTIONS);

interface Run {
  readonly reports: Report[];
  readonly messages: Anthropic.Beta.BetaMessageParam[];
}

/** A run of several turns with the vendor's own client. */
async function run(
  name: string,
  {
    turns = 3,
    streams = false,
    strategy = STRATEGY as Json,
    fields = {},
    model = MODEL,
    of = deployment,
  } = {},
): Promise<Run> {
  const client = new Anthropic({ baseURL: of.url, apiKey: MESSAGES_KEY, maxRetries: 0 });
  const reports: Report[] = [];
  const messages: Anthropic.Beta.BetaMessageParam[] = [];
  for (let turn = 0; turn < turns; turn++) {
    messages.push({ role: 'user', content: `Read "${name}" from page ${turn * PAGES + 1}.` });
    for (;;) {
      const asked = {
        model,
        max_tokens: 2_048,
        system: SYSTEM,
        tools: [TOOL],
        thinking: { type: 'adaptive' as const },
        messages,
        memory_strategy: strategy,
        memory_report: true,
        betas: ['thinking-token-count-2026-05-13'],
        ...fields,
      };
      const answer = streams
        ? await client.beta.messages.stream(asked).finalMessage()
        : await client.beta.messages.create(asked);
      const { memory } = answer as unknown as { memory?: Report };
      if (memory) reports.push(memory);
      messages.push({ role: 'assistant', content: answer.content });
      const uses = answer.content.filter((block) => block.type === 'tool_use');
      if (uses.length === 0) break;
      messages.push({
        role: 'user',
        content: uses.map(({ id, input }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: [{ type: 'text', text: pageOf((input as { page: number }).page) }],
        })),
      });
    }
  }
  return { reports, messages };
}

const sentTo = (of = deployment): RecordedRequest[] => of.upstream.messages();
const compactions = (of = deployment): RecordedRequest[] =>
  sentTo(of).filter(({ body }) => body.compaction !== undefined);
const blocksOf = ({ body }: RecordedRequest): Json[] =>
  body.messages.flatMap(({ content }: Json) =>
    Array.isArray(content) ? content.filter(({ type }) => type === 'compaction') : [],
  );
const withBlock = (of = deployment): RecordedRequest[] =>
  sentTo(of).filter((sent) => sent.body.compaction === undefined && blocksOf(sent).length > 0);
const betasOf = ({ headers }: RecordedRequest): string[] => String(headers['anthropic-beta']).split(/, */);

describe('an agent in mode native, whose API summarizes on demand', () => {
  it.each(ofTurn(0, [false, true]))('shows the signed block first, streaming: %s', async (streams) => {
    const { reports } = await run(`shown ${streams}`, { streams });
    expect(deployment.upstream.refusals).toEqual([]);
    expect(compactions().length).toBeGreaterThan(1);
    expect(withBlock().length).toBeGreaterThan(4);
    for (const sent of withBlock()) {
      expect(sent.body.messages[0].content).toEqual(blocksOf(sent));
      expect(sent.body.messages[0].role).toBe('assistant');
    }
    // Each beta is there once, and the caller's stays.
    for (const sent of [...compactions(), ...withBlock()])
      expect(betasOf(sent)).toEqual(['thinking-token-count-2026-05-13', BETA]);
    for (const sent of sentTo())
      if (blocksOf(sent).length === 0 && !sent.body.compaction) expect(betasOf(sent)).not.toContain(BETA);
    // The client's message has no member that it does not know.
    if (streams) return;
    const summarized = reports.filter(({ summary }) => summary?.signed === true);
    expect(summarized.length).toBe(withBlock().length);
    expect(reports.some(({ summary }) => summary && !summary.signed)).toBe(false);
    const { before = 0, after = 0 } = reports.at(-1)?.tokens ?? {};
    expect(after).toBeLessThan(before * 0.8);
  });

  it('asks for the summary with the tools and instructions of the conversation, and no answer', async () => {
    const schema = { type: 'object', additionalProperties: false };
    const fields = {
      stop_sequences: ['###'],
      tool_choice: { type: 'auto' },
      output_config: { effort: 'low', format: { type: 'json_schema', schema } },
    };
    await run('asked', { turns: 2, fields });
    expect(deployment.upstream.refusals).toEqual([]);
    const [first] = compactions();
    expect(first?.body).toMatchObject({
      model: MODEL,
      system: SYSTEM,
      tool_choice: { type: 'auto' },
      thinking: { type: 'adaptive' },
      compaction: { type: 'summarize' },
      output_config: { effort: 'low' },
    });
    for (const field of ['stream', 'stop_sequences', 'memory_strategy', 'memory_report'])
      expect(first?.body).not.toHaveProperty(field);
    expect(first?.body.output_config).not.toHaveProperty('format');
    expect(first?.body.tools.map(({ name }: Json) => name)).toContain(TOOL.name);
    // The same bytes from the first request on, so nothing that is bound to them is lost.
    const kept = sentTo().map(({ body: { tools, system, thinking } }) =>
      JSON.stringify([tools, system, thinking]),
    );
    expect(new Set(kept).size).toBe(1);
  });
});

describe('a summary by Precis instead of a signed block', () => {
  /** Runs of which no request has a block. @returns the requests with a summary by Precis */
  const portable = async (name: string, more: Parameters<typeof run>[1] = {}) => {
    const { of = deployment } = more;
    const { reports } = await run(name, { turns: 1, strategy: SOON, ...more });
    expect(of.upstream.refusals).toEqual([]);
    expect(withBlock(of)).toEqual([]);
    const summarized = reports.filter(({ summary }) => summary !== undefined);
    expect(summarized.map(({ summary }) => summary?.signed)).toEqual(summarized.map(() => undefined));
    expect(summarized.some(({ summary }) => summary?.status === 'completed')).toBe(true);
    return summarized;
  };
  const faults: readonly (readonly [string, MessagesBehaviour])[] = [
    ['refuses', { type: 'error', status: 400 }],
    ['fails', { type: 'error', status: 500 }],
    ['answers no JSON', { type: 'error', status: 200, body: '{"content":[' }],
    ['is cut off', { type: 'answer', content: '', stopReason: 'max_tokens' }],
    ['calls a tool', { type: 'answer', toolCalls: [{ id: 'toolu_x', name: 'read_page', arguments: '{}' }] }],
    ['writes too much', { type: 'compaction', content: 'Much was said. '.repeat(8_000) }],
  ];
  it.each(faults)('is made where the API %s', async (name, fault) => {
    deployment.upstream.nextCompactions(...Array.from({ length: 40 }, () => fault));
    await portable(name);
    expect(compactions().length).toBeGreaterThan(0);
  });

  describe('whose API falls silent', () => {
    // A busy machine may take longer for a block, so none is expected of this deployment.
    const hasty = deployMessages({ ...OPTIONS, limits: { ...OPTIONS.limits, ownSummaryMs: 700 } });

    it('is made where the API does not answer', async () => {
      hasty.upstream.nextCompactions(...Array.from({ length: 40 }, () => () => undefined));
      await portable('silent', { of: hasty });
      expect(compactions(hasty).length).toBeGreaterThan(0);
    });
  });

  it.each([
    ['the model has no compaction', { model: 'claude-haiku-5-5' }],
    ['the caller edits the context', { fields: { context_management: { edits: [] } } }],
    ['the caller has a budget left', { fields: { output_config: { task_budget: { remaining: 9_000 } } } }],
  ])('is made where %s', async (name, more) => {
    await portable(name, more);
    expect(compactions()).toEqual([]);
  });
});

describe("a caller's own compaction", () => {
  const messages = [
    { role: 'user', content: `Keep this in mind. ${pageOf(1)}` },
    { role: 'assistant', content: 'I will.' },
    { role: 'user', content: 'Thank you.' },
  ];
  const betas = { 'anthropic-beta': BETA };

  it.each(ofTurn(0, [false, true]))('passes unread, with its answer, streaming: %s', async (stream) => {
    const compaction = { type: 'summarize', instructions: 'Keep all names.' };
    const body = { model: MODEL, messages, stream, compaction, memory_strategy: STRATEGY };
    const response = await deployment.post(body, betas);
    const text = await response.text();
    expect(text).toMatch(/"stop_reason":"compaction"/);
    expect(text).toMatch(/"type":"compaction","content":"What was said in 3 messages."/);
    expect(compactions()[0]?.body).toEqual({ model: MODEL, max_tokens: 1_024, messages, stream, compaction });
    expect(betasOf(compactions()[0] as RecordedRequest)).toEqual([BETA]);
    const { content } = stream ? { content: [] } : JSON.parse(text);
    if (stream) return;
    // The block that it gets back is the only one, and no summary is asked for.
    const swapped = [{ role: 'assistant', content }, ...said(12)];
    await deployment.ask({ model: MODEL, messages: swapped, memory_strategy: STRATEGY }, betas);
    expect(deployment.upstream.refusals).toEqual([]);
    expect(compactions()).toHaveLength(1);
    expect(withBlock().at(-1)?.body.messages[0]).toEqual(swapped[0]);
    expect(blocksOf(withBlock().at(-1) as RecordedRequest)).toEqual(content);
  });

  function said(turns: number): Json[] {
    return Array.from({ length: turns }, (_, turn) => [
      { role: 'user', content: pageOf(turn + 10) },
      { role: 'assistant', content: `I have read page ${turn + 10}.` },
    ])
      .flat()
      .slice(0, -1);
  }
});

describe('a count of tokens', () => {
  it('is the count of the view with the block', async () => {
    const { messages } = await run('counted', { turns: 2 });
    const asked = { model: MODEL, system: SYSTEM, tools: [TOOL], messages: messages.slice(0, -1) };
    const response = await deployment.postTo('/v1/messages/count_tokens', {
      ...asked,
      memory_strategy: STRATEGY,
    });
    expect(response.status).toBe(200);
    const sent = deployment.upstream.requests.at(-1) as RecordedRequest;
    expect(sent.path).toContain('count_tokens');
    expect(blocksOf(sent)).toHaveLength(1);
    expect(betasOf(sent)).toContain(BETA);
    expect(deployment.upstream.refusals).toEqual([]);
  });
});

// Last, since a refusal is remembered for the model.
describe('a signed block that the API refuses', () => {
  it('does not come back in a smaller view of the same request', async () => {
    const { messages } = await run('smaller', { turns: 2, model: OTHER_MODEL });
    const before = withBlock().length;
    expect(before).toBeGreaterThan(0);
    const says = (message: string): MessagesBehaviour => ({
      type: 'error',
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message } },
    });
    deployment.upstream.next(
      says('messages.0.content.0: compaction_signature_invalid'),
      says('prompt is too long: 3900 tokens > 3500 maximum'),
    );
    const { seen } = await deployment.ask({
      model: OTHER_MODEL,
      system: SYSTEM,
      tools: [TOOL],
      messages: [...messages, { role: 'user', content: 'Read "smaller" from page 30.' }],
      memory_strategy: STRATEGY,
    });
    expect(withBlock()).toHaveLength(before + 1);
    expect(blocksOf(seen)).toEqual([]);
  });

  it('is replaced by its text, in this request and the next ones', async () => {
    const refused: MessagesBehaviour = (recorded, response) => {
      const isOne = blocksOf(recorded).length > 0;
      response.statusCode = isOne ? 400 : 500;
      const message = 'messages.0.content.0: compaction_signature_invalid';
      response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
    };
    const { messages } = await run('refused', { turns: 2 });
    const before = withBlock().length;
    expect(before).toBeGreaterThan(0);
    deployment.upstream.next(refused);
    const { memory, seen } = await deployment.ask({
      model: MODEL,
      system: SYSTEM,
      tools: [TOOL],
      messages: [...messages, { role: 'user', content: 'Read "refused" from page 30.' }],
      memory_strategy: STRATEGY,
    });
    expect(withBlock()).toHaveLength(before + 1);
    expect(blocksOf(seen)).toEqual([]);
    expect(betasOf(seen)).not.toContain(BETA);
    expect(memory.summary).toMatchObject({ status: 'completed' });
    expect(memory.summary).not.toHaveProperty('signed');
    // The text is the one that the block has.
    expect(JSON.stringify(seen.body.messages)).toContain(memory.summary?.text);
  });
});
