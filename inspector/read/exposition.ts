/**
 * Reads metrics in Prometheus' text format
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** Buckets of histograms are left out; their sum and count stay. */
  readonly samples: readonly { readonly labels: string; readonly value: string }[];
}

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;

/** The families in the order of the text. Lines of other forms are passed over. */
export function readExposition(text: string): Family[] {
  const families = new Map<string, { help: string; type: string; samples: Family['samples'][number][] }>();
  const family = (name: string) => {
    const known = families.get(name) ?? { help: '', type: '', samples: [] };
    families.set(name, known);
    return known;
  };
  for (const line of text.split('\n')) {
    const [, what, name, rest] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) family(name)[what === 'HELP' ? 'help' : 'type'] = rest ?? '';
    const [, sample, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (sample === undefined || value === undefined || sample.endsWith('_bucket')) continue;
    const base = sample.replace(/_(sum|count)$/, '');
    const isPart = base !== sample && families.get(base)?.type === 'histogram';
    const suffix = isPart ? sample.slice(base.length + 1) : '';
    const shown = [suffix, labels.replaceAll('",', '", ')].filter((part) => part !== '').join(' ');
    family(isPart ? base : sample).samples.push({ labels: shown, value });
  }
  return [...families]
    .map(([name, known]) => ({ name, ...known }))
    .filter(({ samples }) => samples.length > 0);
}
