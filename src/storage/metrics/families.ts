/**
 * The metrics of a deployment (docs/operating.md#metrics). Every label has a closed set of values;
 * none is ever a key, an id or a text of a caller.
 */

const TOKENS = [1e3, 2e3, 4e3, 8e3, 16e3, 32e3, 64e3, 128e3, 256e3, 512e3, 1e6];
const SHORT_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
const LONG_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];

interface Family {
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets, ascending. Absent for counters. */
  readonly buckets?: readonly number[];
}

export const families = {
  memory_compaction_items_total: {
    help: 'Items that the views of requests to a model have left out or replaced, each once, by type of edit.',
    labels: ['mode', 'reason', 'protocol'],
  },
  memory_compaction_items_in_views_total: {
    help: 'Items that views have left out or replaced, counted for each request, by type of edit; compactions and explanations count too.',
    labels: ['mode', 'reason', 'protocol'],
  },
  memory_tokens_before_after: {
    help: 'Tokens of requests before and after their view was made.',
    labels: ['stage'],
    buckets: TOKENS,
  },
  precis_requests_total: {
    help: 'Answered requests to a model, and compactions, by protocol, mode and class of status.',
    labels: ['protocol', 'mode', 'status'],
  },
  precis_refusals_total: {
    help: 'Requests that were answered by an error of Precis.',
    labels: ['code'],
  },
  precis_warnings_total: {
    help: 'Warnings in reports, except notices.',
    labels: ['code'],
  },
  precis_notices_total: {
    help: 'Notices in reports: warnings that are no fault.',
    labels: ['code'],
  },
  precis_summaries_total: {
    help: 'Summaries, and parts of long ones, that were written or have failed.',
    labels: ['status'],
  },
  precis_summary_seconds: {
    help: 'Time in which summaries were written.',
    labels: [],
    buckets: LONG_SECONDS,
  },
  precis_retrievals_total: {
    help: 'Refs that a model, an MCP client or a caller asked for, by outcome: found, missing, failed.',
    labels: ['outcome'],
  },
  precis_refs_written_total: {
    help: 'Contents that were written under a new ref for a view.',
    labels: [],
  },
  precis_upstream_tokens_total: {
    help: 'Tokens of model calls, as the upstream has counted them: fresh, cached and output. Without the calls of summarizers.',
    labels: ['state'],
  },
  precis_cache_misses_total: {
    help: 'Answers that read clearly less from the cache of the vendor than they could have, by cause.',
    labels: ['cause'],
  },
  precis_cache_miss_dollars_total: {
    help: 'What these misses have cost more than reads, in dollars, as far as prices are known, by cause.',
    labels: ['cause'],
  },
  precis_overhead_seconds: {
    help: 'Time from a request until its body is sent, mostly the wait for storage and summaries: the clock of a Worker does not move while it computes.',
    labels: [],
    buckets: SHORT_SECONDS,
  },
  precis_first_byte_seconds: {
    help: 'Time from a request until its answer begins.',
    labels: [],
    buckets: LONG_SECONDS,
  },
  precis_otlp_lost_total: {
    help: 'Spans that the collector did not accept.',
    labels: [],
  },
  precis_none_changed_bytes_total: {
    help: 'Bytes of conversations that were changed in mode none, or of observed requests. Anything but 0 is a bug.',
    labels: [],
  },
  precis_events_lost_total: {
    help: "Events of requests that could not be kept in their conversation's object.",
    labels: [],
  },
} as const satisfies Record<string, Family>;

type Families = typeof families;

export type FamilyName = keyof Families;

export type Labels<Name extends FamilyName> = Readonly<Record<Families[Name]['labels'][number], string>>;

/** Counts by series, as in the text format: `name{label="value"}`. */
export type Counts = Readonly<Record<string, number>>;

/** A series of a family, with its labels in the family's order. */
export function seriesOf(name: FamilyName, suffix: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''}`;
}

/** What an observed value adds to the series of its histogram. */
export function observed(
  name: FamilyName,
  labels: Readonly<Record<string, string>>,
  value: number,
): [series: string, by: number][] {
  const { buckets = [] }: Family = families[name];
  const bucket = (le: string, by: number): [string, number] => [
    seriesOf(name, '_bucket', { ...labels, le }),
    by,
  ];
  return [
    ...buckets.map((bound) => bucket(String(bound), value <= bound ? 1 : 0)),
    bucket('+Inf', 1),
    [seriesOf(name, '_sum', labels), value],
    [seriesOf(name, '_count', labels), 1],
  ];
}

/**
 * All metrics in the text format of Prometheus, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). A counter without labels that
 * was never counted is 0.
 */
export function exposition(counts: Counts): string {
  const all = Object.entries(counts);
  const lines = Object.entries<Family>(families).flatMap(([name, { help, labels, buckets }]) => {
    const isOwn = (series: string): boolean =>
      new RegExp(`^${name}${buckets ? '_(?:bucket|sum|count)' : ''}(?:\\{|$)`).test(series);
    const own = all.filter(([series]) => isOwn(series));
    const missing = own.length === 0 && labels.length === 0 && !buckets;
    return [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${buckets ? 'histogram' : 'counter'}`,
      ...(missing ? [`${name} 0`] : own.map(([series, value]) => `${series} ${value}`)),
    ];
  });
  return `${lines.join('\n')}\n`;
}
