/**
 * Turns that begin with thinking. With a budget of thinking (`thinking: {type: "enabled"}`), the
 * API refuses a turn in progress whose first answer has none, while its later answers may lack it
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks).
 *
 * So where the frontier is within a turn, the answer whose thinking leads the next steps stays,
 * with its results, and whatever is between may leave. It leaves once the frontier has passed the
 * last of these steps. A bond says so (`bonds.ts`). It holds for turns that have ended too, so that
 * the end of a turn changes no earlier view.
 *
 * An answer that has said something before it thought can't lead. Where thinking was off in an
 * earlier turn, and one of its answers stays because it has loaded a tool, no thinking leads it: if
 * the request after it leaves, the API takes that answer for the beginning of the turn in progress.
 */
import type { Bond, History, Unit } from './history.ts';
import type { Message } from './message.ts';

/** The history of a request whose turns must begin with thinking. */
export function withTurnHeads(history: History): History {
  const heads = headsOf(history);
  if (heads.length === 0) return history;
  let { bonds } = history;
  // The last one first, since a bond that an answer makes longer may need an earlier answer.
  for (const head of heads.toReversed()) bonds = boundTo(head, bonds, history.units);
  return { ...history, bonds: bonds.toSorted((one, other) => one.caller - other.caller) };
}

/** An answer that begins with thinking, and the last of the steps that it leads. */
interface Head {
  readonly unit: number;
  readonly last: number;
}

function headsOf({ messages, units }: History): Head[] {
  const heads: Head[] = [];
  const asks = requestsOf(messages);
  let head: number | undefined;
  let last = 0;
  const close = (): void => {
    if (head !== undefined) heads.push({ unit: head, last });
    head = undefined;
  };
  for (const [index, { kind, first, last: end, step }] of units.entries()) {
    const begins = kind === 'assistant' && messages[first]?.thinking()?.isFirst === true;
    if (begins || asks.has(first)) close();
    if (begins) head = index;
    if (begins || step) last = index;
    // Such as an observation that answers a step in words.
    for (let message = first + 1; message <= end; message++) if (asks.has(message)) close();
  }
  close();
  return heads;
}

/** Messages with which the API begins a turn: the user's, but for words after results. */
function requestsOf(messages: readonly Message[]): ReadonlySet<number> {
  const requests = new Set<number>();
  let isAfterResults = false;
  for (const [index, { role }] of messages.entries()) {
    if (role === 'user' && !isAfterResults) requests.add(index);
    if (role === 'tool') isAfterResults = true;
    else if (role === 'assistant') isAfterResults = false;
  }
  return requests;
}

/**
 * The bonds with an answer's bond to the steps that it leads. A step that another bond holds is led
 * as long as that, and the bonds that an answer is in last as long as its own.
 */
function boundTo(
  { unit: head, last }: Head,
  bonds: readonly Bond[],
  units: readonly Unit[],
): readonly Bond[] {
  const isOf = ({ caller, results }: Bond): boolean =>
    caller === head || results.some(({ unit }) => unit === head);
  const own = bonds.filter(isOf);
  const led = bonds.filter((bond) => isOf(bond) || (bond.caller > head && bond.caller <= last));
  const bound = own.flatMap(({ results }) => results);
  const until = Math.max(last, ...led.flatMap(({ results }) => results.map(({ unit }) => unit)));
  const open = led.some((bond) => bond.open);
  const end = units[until];
  if (!end || (until === head && !open)) return bonds;
  const isBound = open || bound.some(({ unit }) => unit === until);
  const results = isBound ? bound : [...bound, { unit: until, message: end.first, further: false }];
  const caller = Math.min(head, ...own.map((bond) => bond.caller));
  return [...bonds.filter((bond) => !isOf(bond)), { caller, results, open, leads: true }];
}
