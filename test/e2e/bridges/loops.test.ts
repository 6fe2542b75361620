/** The loops of real clients of chat. Their model knows as much of its thoughts as it is sent. */
import { expect, it } from 'vitest';
import { type Behaviour, behave, respond } from '../../../tools/upstream/behaviours.ts';
import type { ToolCall } from '../../../tools/upstream/completion.ts';
import { CHAT_LOOPS } from '../../support/clients/chat-loops.ts';
import { inTurn } from '../../support/deployment/in-turn.ts';
import { deployMessages, MESSAGES_KEY } from '../../support/deployment/messages-deployment.ts';

type Json = Record<string, unknown>;

const STEPS = 30;
const deployment = deployMessages({ upstream: { thinks: true } });

let made = 0;

/** Looks so often, with what it knows of its thoughts, and then says how much that is. */
function next(looked: number, known: number): { content: string } | { toolCalls: ToolCall[] } {
  if (looked >= STEPS) return { content: `I have looked ${looked} times, and know of ${known}.` };
  const call = { id: `call_${++made}`, name: 'look', arguments: JSON.stringify({ at: known }) };
  return { toolCalls: [call] };
}

const counted = (parts: readonly Json[], ...types: string[]): number =>
  parts.filter(({ type, role }) => types.includes(String(type ?? role))).length;

const ofOpenAi: Behaviour = (request, response, recorded) => {
  const { body } = recorded;
  const parts = (body.input ?? body.messages) as Json[];
  const said = next(counted(parts, 'tool', 'function_call_output'), counted(parts, 'reasoning'));
  if (!body.input) return void behave({ type: 'answer', ...said }, request, response, recorded);
  respond(response, body, { id: `${++made}`, ...said, reasoning: { encrypted: `thought-${made}` } });
};

/** Over Messages, the upstream refuses thoughts on another prefix. */
const ofAnthropic = {
  type: 'model',
  answer({ messages }: Json) {
    const parts = (messages as Json[]).flatMap(({ content }) => content as Json[]);
    return next(counted(parts, 'tool_result'), counted(parts, 'thinking'));
  },
} as const;

const LOOPS = [
  { api: 'responses', knows: STEPS } as const,
  { api: 'messages', knows: STEPS } as const,
  { api: 'chat', knows: 0 } as const,
].flatMap((given) => CHAT_LOOPS.map(([name, loop]) => ({ ...given, name, loop })));

// By day each client's loop over an API has answers of one form, and each API has both.
inTurn(
  [false, true],
  (stream) => `a client's loop (stream: ${stream})`,
  (stream) => {
    it.each(LOOPS)(
      'has all thoughts of its model, which chat alone loses: $name, $api',
      async ({ loop, api, knows }) => {
        deployment.openai.become({ responses: ofOpenAi, chat: ofOpenAi });
        deployment.upstream.become({ thinks: true, messages: ofAnthropic });
        const looked: number[] = [];
        const said = await loop({
          ...{ baseURL: `${deployment.url}/v1`, apiKey: MESSAGES_KEY, stream },
          model: api === 'messages' ? 'claude-sonnet-5-5' : 'gpt-6-astra',
          headers: { 'x-memory-strategy': JSON.stringify({ mode: 'auto', upstream_api: api }) },
          task: `Look around, ${++made}.`,
          look: (at) => {
            looked.push(at);
            return `Nothing, ${looked.length}.`;
          },
        });
        expect(said).toBe(`I have looked ${STEPS} times, and know of ${knows}.`);
        expect(looked).toEqual(Array.from({ length: STEPS }, (_, at) => (knows > 0 ? at : 0)));
        const { openai, upstream } = deployment;
        const asked = [...openai.requests, ...upstream.requests].filter(({ method }) => method === 'POST');
        const path = { responses: '/responses', messages: '/messages', chat: '/chat/completions' }[api];
        expect(asked.map((request) => request.path)).toEqual(
          Array.from({ length: STEPS + 1 }, () => `/v1${path}`),
        );
      },
    );
  },
);
