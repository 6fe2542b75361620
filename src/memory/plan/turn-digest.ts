/** The steps of a turn, listed by code: its tools, their results, and the model's thoughts. */
import { firstLine, shortened } from '../../lib/characters.ts';
import type { History, Output } from '../conversation/history.ts';
import type { Message } from '../conversation/message.ts';
import type { Round } from '../conversation/sequence.ts';
import type { TurnDigest } from './turns-schema.ts';

/** In characters. */
const LONGEST_SUMMARY = 600;
const LONGEST_LINE = 120;

/** Linear in the length of the turn. */
export function digestOf({ messages, units }: History, round: Round): TurnDigest {
  const isIn = (index: number): boolean => index >= round.first && index < round.end;
  const steps = units.filter(({ step, first }) => step && isIn(first));
  const calls = steps.flatMap(({ first }) => messages[first]?.calls ?? []);
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  const outputs = units.filter(({ first }) => isIn(first)).flatMap((unit) => unit.outputs);
  return {
    tools: [...counts].map(([name, count]) => ({ name, calls: count })),
    observations_summary: joined(outputs.map((output) => observation(messages, output))),
    reasoning_summary: joined(steps.flatMap(({ first }) => thoughts(messages[first]))),
  };
}

function observation(messages: readonly Message[], { message, call }: Output): string {
  const line = firstLine(messages[message]?.content().text ?? '', LONGEST_LINE);
  return call ? `${call.name}: ${line}` : line;
}

/** Texts of a message, without names and arguments of its calls. */
function thoughts(message: Message | undefined): string[] {
  if (!message) return [];
  const ofCalls = new Set(message.calls.flatMap(({ id, name, input }) => [id, name, input]));
  const texts = [...message.otherTexts(), ...message.content().weight.texts];
  return texts.filter((text) => !ofCalls.has(text)).map((text) => firstLine(text, LONGEST_LINE));
}

function joined(texts: readonly string[]): string | null {
  const some = texts.filter((text) => text !== '');
  return some.length === 0 ? null : shortened(some.join('\n'), LONGEST_SUMMARY);
}
