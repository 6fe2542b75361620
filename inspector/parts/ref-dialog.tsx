/** The content of a ref, with a search. */
import { useState } from 'preact/hooks';
import type { Client } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { visible } from '../read/visible.ts';
import { Dialog } from './dialog.tsx';
import { count, UNKNOWN } from './numbers.ts';
import { Empty, Of } from './states.tsx';
import { submitted } from './submitted.ts';
import { Passage, Word } from './text.tsx';

interface Props {
  readonly client: Client;
  readonly reference: string;
  readonly title?: string;
  readonly onClose: () => void;
}

export function RefDialog({ client, reference, title = 'Content of a ref', onClose }: Props) {
  const [wanted, setWanted] = useState('');
  const [typed, setTyped] = useState('');
  const [pieces, setPieces] = useState(1);
  const loaded = useLoad(
    (signal) =>
      wanted === '' ? client.ref(reference, pieces, signal) : client.refSearch(reference, wanted, signal),
    [client, reference, wanted, pieces],
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="note">
        <code>{reference}</code>
      </p>
      <form class="search" onSubmit={submitted(() => setWanted(typed))}>
        <label>
          <span class="sr-only">Text to search for</span>
          <input
            type="search"
            value={typed}
            maxLength={80}
            placeholder="Search in it"
            onInput={({ currentTarget }) => {
              setTyped(currentTarget.value);
              if (currentTarget.value === '') setWanted('');
            }}
          />
        </label>
        <button type="submit">Search</button>
      </form>
      <Of loaded={loaded}>
        {({ text, size, facts, isCut }) => (
          <>
            {size !== undefined && (
              <p class="note">
                {count(size)} bytes, tool <Word text={String(facts.tool_name ?? UNKNOWN)} />, call{' '}
                <Word text={String(facts.tool_call_id ?? UNKNOWN)} />
              </p>
            )}
            {text === '' ? (
              <Empty>{wanted === '' ? 'It is empty.' : `No line contains “${visible(wanted)}”.`}</Empty>
            ) : (
              <Passage key={`${wanted} ${pieces}`} text={text} shown={20_000} />
            )}
            {isCut && wanted === '' && (
              <button type="button" class="quiet" onClick={() => setPieces(pieces * 2)}>
                Load more of it
              </button>
            )}
          </>
        )}
      </Of>
    </Dialog>
  );
}
