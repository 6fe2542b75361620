/**
 * What the sums of a trial say (docs/answers-and-errors.md#on-trial): what each side has saved or
 * would have, with an interval of 95 %, and by how much what was really paid differs. Pure.
 */
import { many } from './period-summary.ts';
import { type Estimate, lessThan, ratioOf, shareIn } from './ratio.ts';
import { modeOf, type TrialTotal, type TrialTotals } from './trials.ts';

/** Of one mode. A side is null where it has no request. */
export interface Trial {
  readonly mode: string;
  readonly text: string;
  readonly observed: TriedSide | null;
  readonly sent: TriedSide | null;
  readonly between: Between | null;
}

export interface TriedSide {
  readonly total: TrialTotal;
  /** The share of the whole arrays' cost; null if it is not known. */
  readonly saving: Estimate | null;
}

/**
 * By how much the conversations that were sent differ from the observed ones, as a share: less paid
 * per request, and fewer requests per conversation.
 */
export interface Between {
  readonly cost: Estimate | null;
  readonly requests: Estimate | null;
}

/** The trials of each mode, those with the most requests first. */
export function trialsIn(totals: TrialTotals): readonly Trial[] {
  const modes = [...new Set(Object.keys(totals).map(modeOf))];
  const requests = ({ observed, sent }: Trial): number =>
    (observed?.total.requests ?? 0) + (sent?.total.requests ?? 0);
  return modes.map((mode) => trialOf(mode, totals)).toSorted((one, other) => requests(other) - requests(one));
}

function trialOf(mode: string, totals: TrialTotals): Trial {
  const [observed, sent] = (['observed', 'sent'] as const).map((side) => sideIn(totals[`${side} ${mode}`]));
  const between = observed && sent ? betweenOf(observed.total, sent.total) : null;
  const trial = { mode, observed: observed ?? null, sent: sent ?? null, between };
  return { ...trial, text: textOf(trial) };
}

function sideIn(total: TrialTotal | undefined): TriedSide | undefined {
  if (!total) return undefined;
  return { total, saving: (total.summarizer !== null && ratioOf(total.saving)) || null };
}

function betweenOf(observed: TrialTotal, sent: TrialTotal): Between {
  return {
    cost: (sent.summarizer !== null && lessThan(sent.cost, observed.cost)) || null,
    requests: lessThan(sent.length, observed.length) ?? null,
  };
}

/** `auto would save 31 % ± 4 over 1,204 requests of 83 conversations that were only observed.` */
function textOf({ mode, observed, sent, between }: Omit<Trial, 'text'>): string {
  const were = observed?.total.conversations === 1 ? 'was' : 'were';
  const sentences = [
    observed && `${mode} would ${saves(observed, 'save', 'cost')} that ${were} only observed.`,
    observed && observed.total.answers > 0 && misses(observed.total),
    sent && `${mode} ${saves(sent, 'saves', 'costs')} that it was applied to.`,
    between?.cost &&
      `A request has really cost ${differs(between.cost, 'less', 'more')} with it than without${orChance(between.cost)}.`,
    between?.requests &&
      `A conversation has ${differs(between.requests, 'fewer', 'more')} requests with it${orChance(between.requests)}.`,
  ];
  return sentences.filter((sentence) => sentence).join(' ');
}

function saves({ total, saving }: TriedSide, less: string, more: string): string {
  const { requests, compared, conversations } = total;
  const verb = saving && saving.value < 0 ? more : less;
  const share = saving ? shareIn(saving) : 'an unknown share';
  const all = many(requests, 'request');
  const over = !saving || compared === requests ? all : `${compared.toLocaleString('en')} of ${all}`;
  return `${verb} ${share}${verb === more ? ' more' : ''} over ${over} of ${many(conversations, 'conversation')}`;
}

function misses({ answers, words, missed }: TrialTotal): string {
  const all = `${many(answers, 'answer')} took ${many(words, 'word')} from an output just read`;
  const share = words === 0 ? '' : ` (${((100 * missed) / words).toFixed(1)} %)`;
  return `${all}; ${missed.toLocaleString('en')}${share} would not have been in view.`;
}

function differs(share: Estimate, less: string, more: string): string {
  return `${shareIn(share)} ${share.value < 0 ? more : less}`;
}

/** A difference whose interval has 0 in it may be none. */
function orChance({ value, margin }: Estimate): string {
  return margin !== null && margin >= Math.abs(value) ? ', which may be chance' : '';
}
