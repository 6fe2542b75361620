import { expect, it } from 'vitest';
import { createIsolate } from '../../../bench/pipeline.ts';
import { Conversation } from '../../../bench/replay/conversation.ts';
import { policiesOf } from '../../../bench/replay/policies.ts';
import { termsOfSchedule } from '../../../bench/replay/schedules.ts';
import { loadTokenize } from '../../../src/memory/tokens/tokens.ts';
import { assistant, lines, step, user } from '../../support/conversations/chat.ts';

it.each([
  ...[1_500, 2_500, 4_000, 6_000].map((token_budget) => ({
    mode: 'auto',
    token_budget,
    min_reclaim_tokens: 0,
    rehydrate: true,
  })),
  { mode: 'summarize', token_budget: 3_000, rehydrate: true },
])('leads from each ref in a view to a text, under %j', async (strategy) => {
  const isolate = createIsolate(await loadTokenize('o200k_base'));
  const turns = Array.from({ length: 12 }, (_, at) => [
    user(`Look at ${at}.`),
    ...step(`call_${at}`, `look_${at}`, lines(60, `found ${at}`)),
    assistant(lines(40, `seen ${at}`)),
  ]).flat();
  const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }];
  const messages = [...turns, user('And now?')];
  const conversation = new Conversation({ file: 'test', messages, tools, reuse: [] }, isolate.counter);
  const { others } = policiesOf(isolate, termsOfSchedule('prefix-128'), [JSON.stringify(strategy)]);
  const replay = others[0]?.start(conversation);

  let named = 0;
  for (const count of conversation.points) {
    const view = await replay?.view(count);
    for (const ref of new Set(view?.messages.flatMap(({ refs }) => refs))) {
      expect(replay?.fetch(ref).join('')).not.toBe('');
      named++;
    }
  }
  expect(named).toBeGreaterThan(0);
});
