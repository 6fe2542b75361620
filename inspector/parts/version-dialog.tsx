/** A summary: its text, its transcript, and the versions that it builds on. */
import { useState } from 'preact/hooks';
import type { Version } from '../api/answers.ts';
import { labelOf, VERSION_LABELS } from '../read/codes.ts';
import { Dialog } from './dialog.tsx';
import { Markdown } from './markdown.tsx';
import { RefButton } from './message-rows.tsx';
import { count, duration, moment } from './numbers.ts';
import { Select } from './select.tsx';
import { Empty } from './states.tsx';
import { Word } from './text.tsx';

interface Props {
  /** Newest first. */
  readonly versions: readonly Version[];
  /** The version that is shown first. */
  readonly first: number | null;
  readonly onRef: (ref: string) => void;
  readonly onClose: () => void;
}

export function VersionDialog({ versions, first, onRef, onClose }: Props) {
  const [chosen, setChosen] = useState(first ?? versions[0]?.memory_id);
  const version = versions.find(({ memory_id: id }) => id === chosen);
  const gone = version ? [] : [[String(chosen), String(chosen)] as const];
  return (
    <Dialog title="Summary" onClose={onClose}>
      {versions.length > 0 && (
        <Select
          name="Version"
          value={String(chosen)}
          options={[...gone, ...versions.map(optionOf)]}
          onChoose={(id) => setChosen(Number(id))}
        />
      )}
      {version ? <Shown version={version} onRef={onRef} /> : <Empty>This version is no longer kept.</Empty>}
    </Dialog>
  );
}

function optionOf({ memory_id: id, status, covers_end: end, created_at: at }: Version) {
  const words = `${id}: ${labelOf(VERSION_LABELS, status)}, messages before ${end}, ${moment(at)} UTC`;
  return [String(id), words] as const;
}

function Shown({ version, onRef }: { version: Version; onRef: (ref: string) => void }) {
  const { memory_text: text, base_memory_id: base, tokens, model, error, ref } = version;
  return (
    <>
      <p class="note">
        {count(tokens)} tokens, by <Word text={model ?? 'nobody yet'} /> in{' '}
        {duration(version.generation_time_ms)}
        {base === null ? ', from the messages alone' : `, on version ${base}`}
        {error !== null && `, ${error}`}
      </p>
      {ref !== null && (
        <p>
          <RefButton reference={ref} onRef={onRef} words="Transcript " />
        </p>
      )}
      {text === null ? <Empty>It has no text yet.</Empty> : <Markdown text={text} shown={20_000} />}
    </>
  );
}
