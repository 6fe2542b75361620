/**
 * Confirms after an answer what an isolate relies on (see `Beliefs`), so that the next request
 * has to ask nobody. A conversation has one turn a minute, in which the oldest facts are confirmed.
 *
 * A request notes what it relies on. After its answer the oldest fact of its conversation is
 * confirmed, one a minute, or two where there are more than four. With five minutes of trust, none
 * of them (refs, uses, version, blocks, digests) ever expires in a conversation in use. The
 * confirmation also reports to the object that its conversation is in use.
 */
import type { TenantLru } from '../lib/lru.ts';
import { type Log, logCaught } from '../log.ts';
import type { ConversationName } from './conversation/names.ts';

/** How long what storage has said is relied on, in milliseconds (docs/design.md#7-storage). */
export const TRUST_MS = 5 * 60_000;

/** The least time between two turns of a conversation, in milliseconds. */
const TURN_MS = 60_000;

/** The turns in which every fact must be confirmed once. */
const TURNS = TRUST_MS / TURN_MS - 1;

/** The only fact about a conversation. */
const LAST = '';

/** Something that a request relied on, and how to have it confirmed. */
interface Fact {
  readonly conversation: ConversationName;
  /** When storage was asked, in milliseconds since the epoch. */
  readonly at: number;
  /** One for each time that the request has noted it. */
  readonly confirms: readonly (() => Promise<void>)[];
}

export interface ConversationUpkeep {
  /** Notes a fact. @param at see `Fact` */
  rely(name: string, at: number, confirm: () => Promise<void>): void;
  /** Call this when storage is asked after the answer anyway. */
  takeTurn(): void;
}

/** The turns of all conversations. One per isolate. */
export class Upkeep {
  /** When each conversation had its last one, in milliseconds since the epoch. */
  private readonly turns: TenantLru<number>;
  private readonly log: Log;
  private readonly now: () => number;

  constructor(log: Log, turns: TenantLru<number>, now: () => number = Date.now) {
    this.turns = turns;
    this.log = log;
    this.now = now;
  }

  ofRequest(): RequestUpkeep {
    return new RequestUpkeep(this);
  }

  /** Takes a conversation's turn. @returns whether it had none within the last minute */
  takeTurn(conversation: string): boolean {
    const now = this.now();
    if (now - (this.turns.get(conversation, LAST) ?? Number.NEGATIVE_INFINITY) < TURN_MS) return false;
    this.turns.set(conversation, LAST, now);
    return true;
  }

  /** Confirms the oldest of the facts that are a minute old. Never throws. */
  async confirm(facts: readonly Fact[]): Promise<void> {
    const due = facts.filter(({ at }) => this.now() - at >= TURN_MS).sort((a, b) => a.at - b.at);
    const [oldest] = due;
    if (!oldest || !this.takeTurn(oldest.conversation)) return;
    const some = due.slice(0, Math.ceil(facts.length / TURNS));
    const confirming = some.flatMap(({ confirms }) => confirms.map((confirm) => confirm()));
    for (const settled of await Promise.allSettled(confirming))
      if (settled.status === 'rejected')
        logCaught(this.log, 'warn', 'what is stored could not be confirmed', settled.reason);
  }
}

/** The facts that one request has relied on. */
export class RequestUpkeep {
  private readonly facts = new Map<string, Fact>();
  private readonly upkeep: Upkeep;

  constructor(upkeep: Upkeep) {
    this.upkeep = upkeep;
  }

  /** @param conversation empty without one */
  of(conversation: ConversationName): ConversationUpkeep {
    return {
      rely: (name, at, confirm) =>
        this.add(`${conversation} ${name}`, { conversation, at, confirms: [confirm] }),
      takeTurn: () => this.upkeep.takeTurn(conversation),
    };
  }

  /** A fact that is noted twice, such as two groups of digests, is as old as the older one. */
  private add(key: string, fact: Fact): void {
    const before = this.facts.get(key);
    const both = before && {
      ...fact,
      at: Math.min(before.at, fact.at),
      confirms: [...before.confirms, ...fact.confirms],
    };
    this.facts.set(key, both ?? fact);
  }

  /** See `Upkeep.confirm`. */
  confirm(): Promise<void> {
    return this.upkeep.confirm([...this.facts.values()]);
  }
}
