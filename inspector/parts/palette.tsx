/** ⌘K or Ctrl+K: goes to a conversation, to a request by its id, or to a screen. */
import { useEffect, useId, useState } from 'preact/hooks';
import type { Client, Named } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { fragmentOf } from '../place.ts';
import { openingName } from '../read/titles.ts';
import { visible } from '../read/visible.ts';
import { namedOf } from './conversation-table.tsx';
import { Dialog } from './dialog.tsx';
import { Failed } from './states.tsx';
import { useSettled } from './use-settled.ts';

interface Props {
  readonly client: Client;
  readonly screens: readonly (readonly [screen: string, title: string])[];
}

/** The button, and the dialog that it and the keys open. */
export function Palette(props: Props) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <>
      <button type="button" class="quiet" aria-keyshortcuts="Meta+K Control+K" onClick={() => setOpen(true)}>
        Go to… <kbd>{navigator.platform.startsWith('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {isOpen && <Choices {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

interface Choice {
  readonly href: string;
  readonly label: string;
  readonly about: string;
}

/** After a person has stopped typing, in milliseconds. */
const TYPING_MS = 200;

/** Conversations that are shown, and those in which a request is looked for by its id. */
const SHOWN = 8;
const SEARCHED = 20;

const REQUEST_ID = /^req_\w+$/;

function Choices({ client, screens, onClose }: Props & { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const wanted = useSettled(typed.trim(), TYPING_MS);
  const loaded = useLoad((signal) => found(client, wanted, signal), [client, wanted]);
  const isRequest = REQUEST_ID.test(wanted);
  const choices: readonly Choice[] = [
    ...(loaded.value ?? []),
    ...screens
      .filter(([, title]) => title.toLowerCase().includes(wanted.toLowerCase()))
      .map(([screen, title]) => ({ href: `#/${screen}`, label: title, about: 'screen' })),
  ];
  const chosen = Math.min(at, choices.length - 1);
  const go = ({ href }: Choice): void => {
    location.hash = href;
    onClose();
  };
  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0 || choices.length === 0) return;
    event.preventDefault();
    setAt((chosen + step + choices.length) % choices.length);
  };
  return (
    <Dialog title="Go to" class="palette" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const choice = choices[chosen];
          if (choice) go(choice);
        }}
      >
        <input
          // biome-ignore lint/a11y/noRedundantRoles: it is no combobox without a list of its own
          role="combobox"
          type="text"
          list={undefined}
          aria-label="A conversation, a user, a request’s id or a screen"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={choices.length > 0 ? `${list}-${chosen}` : undefined}
          placeholder="A conversation, a user, a request’s id (req_…) or a screen"
          autocomplete="off"
          spellcheck={false}
          maxLength={256}
          value={typed}
          onKeyDown={pressed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setAt(0);
          }}
        />
      </form>
      <Options list={list} choices={choices} chosen={chosen} onGo={go} />
      <p class="note" role="status">
        {loaded.state === 'loading' && 'Looking…'}
        {loaded.state === 'ready' &&
          isRequest &&
          (loaded.value?.length ?? 0) === 0 &&
          `No such request among the newest 100 of the ${SEARCHED} conversations that were used last.`}
      </p>
      {loaded.state === 'failed' && <Failed failure={loaded.failure} onAgain={loaded.again} />}
    </Dialog>
  );
}

interface OptionsProps {
  readonly list: string;
  readonly choices: readonly Choice[];
  readonly chosen: number;
  readonly onGo: (choice: Choice) => void;
}

function Options({ list, choices, chosen, onGo }: OptionsProps) {
  return (
    <div role="listbox" id={list} aria-label="Places" class="choices-list">
      {choices.map((choice, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
        <div
          key={choice.href}
          id={`${list}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          onClick={() => onGo(choice)}
        >
          <bdi>{choice.label}</bdi> <span class="note">{choice.about}</span>
        </div>
      ))}
    </div>
  );
}

/** A request has no index by its id, so the conversations that were used last are looked through. */
async function found(client: Client, wanted: string, signal: AbortSignal): Promise<Choice[]> {
  const isRequest = REQUEST_ID.test(wanted);
  const query = { sort: 'used', q: isRequest ? '' : wanted, limit: String(isRequest ? SEARCHED : SHOWN) };
  const { data } = await client.conversations(query, null, signal);
  const named = data.flatMap((one) => namedOf(one) ?? []);
  if (!isRequest) return named.map(choiceOf);
  const pages = await Promise.all(
    named.map(async (one) => ({ one, runs: (await client.requests(one, null, 100, signal)).data })),
  );
  return pages.flatMap(({ one, runs }) =>
    runs
      .filter(({ request_id: id }) => id === wanted)
      .map(({ n }) => ({
        href: fragmentOf({ ...one, screen: 'request', n }),
        label: `Request ${n}`,
        about: `of ${choiceOf(one).label}`,
      })),
  );
}

function choiceOf(named: Named): Choice {
  const { id, user } = named;
  return {
    href: fragmentOf({ ...named, screen: 'conversation' }),
    label: openingName(id) ?? visible(id),
    about: user === undefined ? 'conversation' : `of user ${visible(user)}`,
  };
}
