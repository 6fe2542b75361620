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

/**
 * The last three steps of an array, and what a view has in their places. The user's request of the
 * turn may be among them, and may begin with a summary, so neither has it.
 */
export function lastSteps(
  messages: readonly Message[],
  view: readonly Message[],
): { readonly tail: Message[]; readonly seen: (Message | undefined)[] } {
  const answers = messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  const from = answers.at(-3) ?? 1;
  const kept = messages.flatMap((message, at) => {
    const isOwn = message.role !== 'user' || String(message.content).startsWith('Observation');
    return at >= from && isOwn ? [{ message, behind: messages.length - at }] : [];
  });
  return {
    tail: kept.map(({ message }) => message),
    seen: kept.map(({ behind }) => view[view.length - behind]),
  };
}
