/**
 * Summaries of models that reason before they write, as OpenAI's do by default: reasoning counts
 * against the limit of the answer, which is cut off there
 * (https://developers.openai.com/api/docs/guides/reasoning, "Allocating space for reasoning"). The
 * upstream is the summarizer too, so nothing keeps it from reasoning.
 */
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, it } from 'vitest';
import { type Behaviour, behave, sendJson } from '../../../tools/upstream/behaviours.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { conversation, HEADINGS, readSummary } from '../../support/deployment/summarizer.ts';

/** How the model answers a request for a summary, in tokens. */
let model = { thought: 0, text: '' };
let asked: { max_tokens?: number; max_completion_tokens?: number }[] = [];

const chat: Behaviour = (request, response, recorded) => {
  const { body } = recorded;
  const isSummary = String(body.messages?.at(-1)?.content).includes('<transcript-');
  if (!isSummary) return void behave({ type: 'answer' }, request, response, recorded);
  asked.push(body);
  const limit = body.max_completion_tokens ?? body.max_tokens ?? Number.POSITIVE_INFINITY;
  const thought = Math.min(model.thought, limit);
  const tokens = encode(model.text);
  const written = tokens.slice(0, limit - thought);
  const prompt_tokens = Math.ceil(recorded.rawBody.length / 4);
  const completion_tokens = thought + written.length;
  sendJson(response, {
    id: 'chatcmpl-summary',
    object: 'chat.completion',
    created: 1,
    model: body.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: decode(written), refusal: null },
        finish_reason: written.length < tokens.length ? 'length' : 'stop',
      },
    ],
    usage: {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      completion_tokens_details: { reasoning_tokens: thought },
    },
  });
};

const deployment = deploy({ upstream: { chat } });

const LAST = 'The last box of all is labelled complete.';

const summaries = new Map<number, string>();

/** A summary of nearly the most tokens. */
function summaryOf(most: number): string {
  const known = summaries.get(most);
  if (known !== undefined) return known;
  const lines: string[] = [];
  const text = (): string =>
    HEADINGS.map((heading) => {
      const isProgress = heading === '## Progress';
      return `${heading}\n${isProgress ? lines.join('\n') : heading === '## Next Steps' ? LAST : '(none)'}`;
    }).join('\n\n');
  for (let at = 0; encode(text()).length < most - 60; at++)
    lines.push(`The box number ${at} weighs ${at * 37} grams, and stands on shelf ${at * 11}.`);
  summaries.set(most, text());
  return text();
}

const CASES = ['gpt-6-luna', 'gpt-6.2-sol', 'o4-mini'].flatMap((name) =>
  [500, 4_000].flatMap((most) => [5_000, 12_000, 20_000].map((thought) => [name, most, thought] as const)),
);

let topics = 0;

/** Has a new conversation summarized, and what its view shows of it. */
async function summarised(name: string, most: number, thought: number) {
  model = { thought, text: summaryOf(most) };
  asked = [];
  const { seen, memory } = await deployment.ask({
    model: name,
    memory_strategy: {
      mode: 'summarize',
      context_limit: 4,
      keep_last_n_turns: 2,
      keep_first_user: false,
      summary_max_tokens: most,
    },
    messages: conversation(`boxes ${++topics}`, 16),
  });
  return { seen, summary: memory.summary };
}

overProtocols('a summarizer that reasons', deployment, () => {
  it.each(CASES)('%s writes %i tokens whole after %i of reasoning', async (name, most, thought) => {
    const { seen, summary } = await summarised(name, most, thought);
    expect(asked).toHaveLength(1);
    expect(summary).toMatchObject({
      status: 'completed',
      usage: { completion_tokens: thought + encode(model.text).length },
    });
    const { text } = readSummary(seen.body.messages[2].content);
    expect(text).toContain(LAST);
    expect(encode(text).length).toBeGreaterThan(0.8 * most);
  });

  it('is found out where an answer is cut off', async () => {
    const { summary } = await summarised('a-model', 500, 5_000);
    expect(asked.length).toBeGreaterThan(0);
    expect(summary?.status).toBe('degraded');
  });
});
