/** The summary in a view, with its sources and what is new in it. */
import type { RunEvent, Version } from '../api/answers.ts';
import { labelOf, SUMMARY_LABELS } from '../read/codes.ts';
import { lineDiff } from '../read/line-diff.ts';
import { visible } from '../read/visible.ts';
import { Folded } from './folded.tsx';
import { Markdown } from './markdown.tsx';
import { count } from './numbers.ts';
import { Term } from './term.tsx';
import { Word } from './text.tsx';

interface Props {
  readonly summary: NonNullable<RunEvent['summary']>;
  /** Newest first; undefined while they are loading. */
  readonly versions: readonly Version[] | undefined;
  readonly isPotential: boolean;
  readonly onVersions: () => void;
}

export function SummaryInPlace({ summary, versions, isPotential, onVersions }: Props) {
  const { covers, status, memory_id: id } = summary;
  const [from, to] = covers;
  if (isPotential)
    return (
      <p>
        A <Term of="summary" /> would replace the messages {from} to {to}.
      </p>
    );
  const version = versions?.find((one) => one.memory_id === id);
  const base = versions?.find((one) => one.memory_id === version?.base_memory_id);
  return (
    <div class="edit">
      <p class="chips">
        <span class="chip">
          messages {from} to {to}
        </span>
        <span class="chip">{labelOf(SUMMARY_LABELS, status)}</span>
        {version?.tokens != null && <span class="chip saves">{count(version.tokens)} tokens</span>}
      </p>
      {version?.memory_text != null ? (
        <Markdown text={version.memory_text} shown={MOST_SHOWN} />
      ) : (
        <p class="note">{versions ? gone(id) : 'Its text is loading.'}</p>
      )}
      {version && (
        <p class="note">
          By <Word text={version.model ?? 'nobody yet'} />
          {base ? `, from version ${base.memory_id} and the messages after it` : ', from the messages alone'}.
        </p>
      )}
      {version?.memory_text != null && base?.memory_text != null && (
        <Folded summary={`What is new since version ${base.memory_id}`}>
          {() => <Difference before={base.memory_text ?? ''} after={version.memory_text ?? ''} />}
        </Folded>
      )}
      {(versions?.length ?? 0) > 0 && (
        <button type="button" class="quiet" onClick={onVersions}>
          All versions
        </button>
      )}
    </div>
  );
}

/** In characters. */
const MOST_SHOWN = 4_000;

function gone(id: number | null): string {
  return id === null ? 'Its text is not stored.' : `Version ${id} is no longer kept.`;
}

const MARKS = { same: ' ', added: '+', removed: '−' } as const;

function Difference({ before, after }: { before: string; after: string }) {
  const lines = lineDiff(before, after);
  if (!lines) return <p class="note">They are too long to compare here.</p>;
  if (lines.every(({ kind }) => kind === 'same')) return <p class="note">Nothing.</p>;
  return (
    <pre class="diff" dir="auto">
      {lines.map(({ kind, text }, at) => (
        <span key={at} class={`diff-line ${kind}`}>
          {MARKS[kind]} {visible(text)}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
