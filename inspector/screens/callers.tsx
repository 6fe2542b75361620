/** The callers of a deployment: what each has used, and what its operator does to it. */
import { useState } from 'preact/hooks';
import type { ShownCaller } from '../api/answers.ts';
import type { CallersRead, Operator } from '../api/operator.ts';
import { useAction } from '../api/use-action.ts';
import { useLoad } from '../api/use-load.ts';
import { CallerCard, type Doing } from '../parts/caller-card.tsx';
import { type CallerDialog, DeleteCaller, LimitCaller } from '../parts/caller-dialogs.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Select } from '../parts/select.tsx';
import { useShownPart } from '../parts/shown-part.ts';
import { Empty, Failed, Of } from '../parts/states.tsx';
import { submitted } from '../parts/submitted.ts';
import { CALLER_SORTS, sortedCallers } from '../read/callers.ts';
import { PARTS } from '../read/overview.ts';

/** Of 20 callers, that are read at once. */
const PAGES = 5;

export function Callers({ operator }: { operator: Operator }) {
  const [pages, setPages] = useState(PAGES);
  const [changes, setChanges] = useState(0);
  const [sorting, setSorting] = useState<string>(CALLER_SORTS[0][0]);
  const [about, setAbout] = useState<{ readonly caller: ShownCaller; readonly doing: Doing }>();
  const [made, setMade] = useState<ShownCaller>();
  const [notice, setNotice] = useState('');
  const { failure, run } = useAction();
  const heading = useShownPart<HTMLHeadingElement>(PARTS.callers);
  const loaded = useLoad<CallersRead>(
    (signal, show) => operator.callers(pages, signal, show),
    [operator, pages, changes],
  );
  /** Reads the list again, after something has changed. */
  const changed = (words: string, caller?: ShownCaller): void => {
    setNotice(words);
    if (caller?.access_key !== undefined) setMade(caller);
    setChanges((before) => before + 1);
  };
  const open = ({ name, state }: ShownCaller): Promise<void> =>
    run(async () => {
      const isDisabled = state === 'disabled';
      if (state === 'deleted') changed(`${name} was added again.`, await operator.restore(name));
      else {
        await operator.change(name, { state: isDisabled ? 'active' : 'disabled' });
        changed(`${name} is ${isDisabled ? 'enabled' : 'disabled'}.`);
      }
    });
  return (
    <>
      <h2 id={PARTS.callers} ref={heading}>
        Callers
      </h2>
      <AddCaller operator={operator} onChanged={changed} />
      {made && <MadeKey caller={made} onKept={() => setMade(undefined)} />}
      <p class="note" role="status">
        {notice}
      </p>
      {failure && <Failed failure={failure} />}
      <Select
        class="field inline sorting"
        name="Sort by"
        value={sorting}
        options={CALLER_SORTS}
        onChoose={setSorting}
      />
      <Of loaded={loaded} what="The callers">
        {({ callers, hasMore }) => (
          <>
            <List
              callers={sortedCallers(callers, sorting)}
              onOpen={open}
              onAbout={(caller, doing) => setAbout({ caller, doing })}
            />
            {hasMore && loaded.state !== 'loading' && (
              <button type="button" class="quiet" onClick={() => setPages(pages + PAGES)}>
                Load more than these {callers.length} callers
              </button>
            )}
          </>
        )}
      </Of>
      {about && (
        <About {...about} operator={operator} onChanged={changed} onClose={() => setAbout(undefined)} />
      )}
    </>
  );
}

interface ListProps {
  readonly callers: readonly ShownCaller[];
  readonly onOpen: (caller: ShownCaller) => Promise<void>;
  readonly onAbout: (caller: ShownCaller, doing: Doing) => void;
}

function List({ callers, ...handlers }: ListProps) {
  if (callers.length === 0) return <Empty>Nobody has stored anything, and there are no access keys.</Empty>;
  return (
    <ul class="cards">
      {callers.map((caller) => (
        <CallerCard key={caller.name} caller={caller} {...handlers} />
      ))}
    </ul>
  );
}

function About({ doing, ...rest }: CallerDialog & { doing: Doing }) {
  return doing === 'limit' ? <LimitCaller {...rest} /> : <DeleteCaller {...rest} />;
}

interface AddProps {
  readonly operator: Operator;
  readonly onChanged: (words: string, caller: ShownCaller) => void;
}

function AddCaller({ operator, onChanged }: AddProps) {
  const [name, setName] = useState('');
  const { isRunning, failure, run } = useAction();
  const add = async (): Promise<void> => {
    onChanged(`${name} was added.`, await operator.add(name));
    setName('');
  };
  return (
    <>
      <form class="search" onSubmit={submitted(() => void run(add))}>
        <label class="field">
          Name of a new caller
          <input
            type="text"
            required
            pattern="\w[\w.@\-]{0,63}"
            title="Up to 64 letters, digits, _, ., @ and -"
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isRunning}>
          Add, and make a key
        </button>
      </form>
      {failure && <Failed failure={failure} />}
    </>
  );
}

/** The deployment keeps a hash of the key, so it can't be shown again. */
function MadeKey({
  caller: { name, access_key: key = '' },
  onKept,
}: {
  caller: ShownCaller;
  onKept: () => void;
}) {
  return (
    <section class="state made-key" aria-label={`The key of ${name}`}>
      <p>
        The key of <strong>{name}</strong>. It is shown this once: copy it before you leave this screen.
      </p>
      <pre>{key}</pre>
      <div class="actions">
        <CopyButton text={key} />
        <button type="button" onClick={onKept}>
          Hide it
        </button>
      </div>
    </section>
  );
}
