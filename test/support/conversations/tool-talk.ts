/**
 * A conversation of questions, calls and answers. Placeholders can remove half of it, and only a
 * summary the rest.
 */
import { type Message, rows } from '../clients/agent-run.ts';
import { question, turn } from '../deployment/summarizer.ts';

/** Messages in a finished turn: question, call, output, answer. */
const TURN = 4;

/**
 * Turns of about 1,300 tokens, half of them in the output; the last one waits for its call. Turn n
 * asks in message 4n − 3.
 */
export function toolTalk(topic: string, turns: number): Message[] {
  const over = Array.from({ length: turns - 1 }, (_, at): Message[] => {
    const [asked = question(topic, at + 1), answer = asked] = turn(topic, at + 1);
    const id = `call_${at + 1}`;
    const called = { name: 'search', arguments: JSON.stringify({ topic, number: at + 1 }) };
    return [
      asked,
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: called }] },
      { role: 'tool', tool_call_id: id, content: rows(`${topic} ${at + 1}`, 40) },
      answer,
    ];
  });
  return [{ role: 'system', content: 'You weigh things.' }, ...over.flat(), question(topic, turns)];
}

/** The number of messages in each request, in order: before each call, and before each answer. */
export function requestsIn(messages: readonly Message[]): number[] {
  return Array.from({ length: Math.floor(messages.length / (TURN / 2)) }, (_, at) => (TURN / 2) * (at + 1));
}
