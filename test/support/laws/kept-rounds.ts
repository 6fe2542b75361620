/** Kept rounds for tests of plans, and the laws of views with them. */
import type { KeptRounds } from '../../../src/memory/replay/kept-rounds.ts';
import { readChatRequest } from '../../../src/protocol/chat/request.ts';
import { counter, messagesOf, type RoundsOfTest, type Viewed } from './view-of.ts';

type Message = Record<string, unknown>;

/** A round before the answer that is this message of an array: a call and its result. */
export function roundOf(message: number, result: string, ref = 'ref_'): RoundsOfTest {
  const id = `fetch_${message}`;
  const call = { id, type: 'function', function: { name: 'retrieve_ref', arguments: `{"ref":"${ref}"}` } };
  const details = [{ type: 'reasoning.text', text: `Line ${message}?`, signature: `c2ln${message}` }];
  return roundsOf(message, [
    { role: 'assistant', content: null, reasoning_details: details, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: result },
  ]);
}

function roundsOf(message: number, messages: readonly Message[]): RoundsOfTest {
  const json = messages.map((one) => JSON.stringify(one)).join(',');
  const bytes = new TextEncoder().encode(`{"messages":[${json}]}`);
  const read = readChatRequest(bytes);
  if (!read.ok) throw new Error(read.reason.message);
  const tokens = read.value.messages.reduce((sum, one) => sum + counter.message(one), 0);
  return { key: `key_${message}`, message, rounds: 1, tokens, bytes: json.length, json };
}

/** The same view as if there were no rounds in it, for the laws of all views. */
export function withoutRounds(viewed: Viewed): Viewed {
  const { request, view, report } = viewed;
  const { rounds, ...rest } = view;
  const { tokens } = report;
  const more = [...(rounds?.values() ?? [])].reduce((sum, one) => sum + one.tokens, 0);
  const left = tokens ? { tokens: { ...tokens, after: tokens.after - more } } : {};
  return { ...viewed, view: rest, bytes: request.write(rest), report: { ...report, ...left } };
}

/**
 * What a request sent, and what its rounds have appended, is how the next view begins, unless that
 * says that the frontier has moved.
 *
 * @param added the rounds of the earlier request
 */
export function brokenContinuation(
  earlier: Viewed,
  added: RoundsOfTest | undefined,
  later: Viewed,
): string[] {
  if (later.report.frontier.moved) return [];
  const isShown = added && later.view.rounds?.has(added.message);
  const before = [...messagesOf(earlier), ...(isShown ? parsed(added) : [])];
  const after = messagesOf(later);
  const changed = before.findIndex((one, index) => JSON.stringify(one) !== JSON.stringify(after[index]));
  return changed < 0 ? [] : [`message ${changed} of what was sent changed while the frontier was kept`];
}

function parsed({ json }: RoundsOfTest): Message[] {
  return JSON.parse(`[${json}]`) as Message[];
}

/** Where rounds are, and how much they may be. */
export function brokenRounds({ request, plan, view, report, bytes }: Viewed): string[] {
  const shown = [...(view.rounds ?? [])];
  const sent = new TextDecoder().decode(bytes);
  const { hard, soft, window } = plan.budgets;
  const tokens = shown.reduce((sum, [, one]) => sum + one.tokens, 0);
  return [
    ...shown.flatMap(([message, { json }]) => {
      const answer = new TextDecoder().decode(request.messages[message]?.json);
      const isEdited = view.removals.has(message);
      return sent.includes(isEdited ? `${json},` : `${json},${answer}`)
        ? []
        : [`the rounds before message ${message} are not as they were`];
    }),
    ...(tokens > Math.min(hard ?? soft ?? window, window) / 4 ? [`${tokens} tokens are too many`] : []),
    ...((report.kept_rounds?.tokens ?? 0) === tokens ? [] : ['the report has other tokens']),
    ...(shown.some(([message]) => view.dropped.has(message)) ? ['rounds without their answer'] : []),
  ];
}

/** The rounds of the answers before an index. */
export function roundsBefore<Kept extends KeptRounds>(rounds: readonly Kept[], messages: number): Kept[] {
  return rounds.filter(({ message }) => message < messages);
}
