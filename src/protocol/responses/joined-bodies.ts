/** Joins several JSON responses of a model into the one that the caller sees. */

import { asObject, isObject } from '../../lib/json.ts';
import type { JoinedBodies, SaidAnswer } from '../answers/answer-format.ts';
import { CountedAnswers } from '../answers/joined-answers.ts';
import type { ToolTurn } from '../answers/tool-turn.ts';
import { RESPONSES_USAGE, UsageTally } from '../answers/usage.ts';
import { scanObject, spliceAll, valueIn } from '../json/spans.ts';
import { type Ending, saidItems } from './answer-text.ts';
import { ItemSorter, turnOf } from './calls.ts';
import { isEncrypted, withMark, withoutEncrypted } from './reasoning.ts';
import { RESPONSE, responseSplices } from './splices.ts';

export class JoinedResponsesBodies extends CountedAnswers implements JoinedBodies {
  protected readonly tally = new UsageTally(RESPONSES_USAGE);
  isUnstored: boolean | undefined;
  private ending: Ending | undefined;
  /** The caller's items of all answers so far. */
  private readonly items: unknown[] = [];

  get said(): SaidAnswer | undefined {
    return this.ending && saidItems(this.items, this.ending);
  }

  take(body: Uint8Array): ToolTurn | Uint8Array {
    const response = scanObject(body, RESPONSE);
    if (!response) return body;
    const field = (key: string): unknown => valueIn(body, response, key);
    const output = field('output');
    if (!Array.isArray(output)) return body;
    const isComplete = (field('status') ?? 'completed') === 'completed';
    const items = output.map(asObject);
    const newSorter = () => new ItemSorter(this.names, this.mayAnswer);
    const sorter = newSorter();
    sorter.hidesTexts = this.withholds && isComplete && newSorter().areOurs(items);
    const shown = callerItems(output, sorter);
    const isHiding = this.form.isHidden && shown.some(isEncrypted);
    const asShown = isHiding ? withoutEncrypted : this.signs ? same : marked;
    this.items.push(...shown.map(asShown));
    this.isUnstored = field('store') === false;
    const counted = field('usage');
    if (counted) this.tally.count(asObject(counted));
    if (sorter.isOurs && isComplete) {
      this.goOn();
      return turnOf(output.filter(isObject), sorter, this.isUnstored);
    }
    this.ending = { status: field('status'), details: field('incomplete_details') };
    const isSame = !this.isLater && !isHiding && this.items.length === output.length;
    const changes = {
      output: isSame ? undefined : this.items,
      usage: this.isLater ? this.tally.forCaller : undefined,
    };
    const splices = responseSplices(body, response, this.names, changes);
    return spliceAll(body, splices);
  }
}

const same = (item: unknown): unknown => item;

/** An item that is removed when it comes back, if it is encrypted. */
const marked = (item: unknown): unknown => (isEncrypted(item) ? withMark(asObject(item)) : item);

function callerItems(output: readonly unknown[], sorter: ItemSorter): unknown[] {
  const items: unknown[] = [];
  let reasoning: unknown[] = [];
  /** The number of reasoning items that have led to nothing but hidden calls so far. */
  let loose = 0;
  for (const item of output) {
    const fate = sorter.next(asObject(item));
    if (fate === 'held') reasoning.push(item);
    else if (fate === 'hidden' && sorter.passes(asObject(item))) loose = reasoning.length;
    else {
      if (fate === 'shown') items.push(...reasoning, item);
      reasoning = [];
      loose = 0;
    }
  }
  return sorter.isOurs ? items : [...items, ...reasoning.slice(loose)];
}
