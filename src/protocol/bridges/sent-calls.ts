/**
 * The calls of a chat body by their ids. Chat pairs calls and results within a round, so an id may
 * come again in a later one. The other APIs pair in all of the array: they refuse an id that comes
 * again (https://github.com/NousResearch/hermes-agent/issues/102629), or give both results to one
 * of the calls (https://github.com/openai/gpt-oss/issues/308).
 */
import type { JsonObject } from '../../lib/json.ts';
import type { ShortNames } from './short-names.ts';

interface SentCall {
  readonly id: unknown;
  readonly isCustom: boolean;
}

export class SentCalls {
  private readonly names: ShortNames;
  /** How often an id has come. */
  private readonly counts = new Map<string, number>();
  /** The calls of the last answer with an id, from the first that has no result. */
  private readonly last = new Map<unknown, SentCall[]>();

  constructor(names: ShortNames) {
    this.names = names;
  }

  /**
   * Takes the calls of an answer.
   *
   * @param areKept whether the API has made their ids, and takes them back as they are
   * @returns their ids for the API, in order
   */
  take(calls: readonly JsonObject[], areKept = false): unknown[] {
    for (const { id } of calls) this.last.delete(id);
    return calls.map((call) => {
      const sent = { id: this.fresh(call.id, areKept), isCustom: call.type === 'custom' };
      this.last.set(call.id, [...(this.last.get(call.id) ?? []), sent]);
      return sent.id;
    });
  }

  /** The call that a result answers. One that answers none says so with its own id. */
  answered(id: unknown): SentCall {
    const calls = this.last.get(id) ?? [];
    const call = calls.length > 1 ? calls.shift() : calls[0];
    return call ?? { id: this.names.short(id, 'call_'), isCustom: false };
  }

  /** A missing id stays missing. */
  private fresh(id: unknown, isKept: boolean): unknown {
    if (typeof id !== 'string') return id;
    const count = this.counts.get(id) ?? 0;
    this.counts.set(id, count + 1);
    if (count > 0) return this.names.hashed(`${id} ${count}`, 'call_');
    return isKept ? id : this.names.short(id, 'call_');
  }
}
