/** What can be done with chosen conversations: exporting and deleting. */
import { useState } from 'preact/hooks';
import type { Client, Named } from '../api/client.ts';
import { missing } from '../api/connection.ts';
import { download, exported } from '../api/export.ts';
import { useAction } from '../api/use-action.ts';
import { visible } from '../read/visible.ts';
import { ConfirmField } from './confirm.tsx';
import { Dialog } from './dialog.tsx';
import { count } from './numbers.ts';
import { Failed } from './states.tsx';
import { submitted } from './submitted.ts';
import { Word } from './text.tsx';

interface Props {
  readonly client: Client;
  readonly chosen: readonly Named[];
  /** Called when some of them may be gone. */
  readonly onDeleted: () => void;
}

export function ConversationActions({ client, chosen, onDeleted }: Props) {
  const [isAsked, setAsked] = useState(false);
  const [done, setDone] = useState(0);
  const { isRunning, failure, run } = useAction();
  const write = (): Promise<void> =>
    run(async () => {
      setDone(0);
      download(await exported(client, chosen, setDone), 'precis-conversations.json');
    });
  return (
    <>
      <button type="button" disabled={isRunning} onClick={write}>
        {isRunning ? `Reading ${done + 1} of ${chosen.length}…` : 'Export'}
      </button>
      <button type="button" disabled={isRunning} onClick={() => setAsked(true)}>
        Delete…
      </button>
      {failure && <Failed failure={failure} onAgain={write} />}
      {isAsked && (
        <DeleteDialog client={client} chosen={chosen} onDeleted={onDeleted} onClose={() => setAsked(false)} />
      )}
    </>
  );
}

/** In characters, of the name that must be typed. */
const LONGEST_TYPED = 40;

/** Of the conversations that a dialog names. */
const NAMED = 8;

function DeleteDialog({ client, chosen, onDeleted, onClose }: Props & { onClose: () => void }) {
  const [isRight, setRight] = useState(false);
  const [done, setDone] = useState(0);
  const { isRunning, failure, run } = useAction();
  const [only] = chosen.length === 1 ? chosen : [];
  const words = only ? visible(only.id).slice(0, LONGEST_TYPED) : `delete ${chosen.length} conversations`;
  const remove = (): Promise<void> =>
    run(async () => {
      try {
        for (const named of chosen.slice(done)) {
          await client.delete(named).catch(missing(true));
          setDone((before) => before + 1);
        }
      } finally {
        onDeleted();
      }
      onClose();
    });
  return (
    <Dialog title={only ? 'Delete the conversation' : `Delete ${words.slice(7)}`} onClose={onClose}>
      <form onSubmit={submitted(() => isRight && !isRunning && void remove())}>
        <p>
          Summaries, archive, settings and recorded requests are deleted, with the contents that no other
          conversation refers to. This can’t be undone.
        </p>
        <ul class="named">
          {chosen.slice(0, NAMED).map(({ id, user }) => (
            <li key={`${user} ${id}`}>
              <Word text={id} />
              {user !== undefined && (
                <span class="note">
                  {' '}
                  of user <Word text={user} />
                </span>
              )}
            </li>
          ))}
          {chosen.length > NAMED && <li class="note">and {count(chosen.length - NAMED)} more</li>}
        </ul>
        <ConfirmField words={words} onTyped={setRight} />
        <button type="submit" class="primary danger" disabled={isRunning || !isRight}>
          {isRunning ? `Deleting ${done + 1} of ${chosen.length}…` : 'Delete'}
        </button>
        {failure && <Failed failure={failure} />}
      </form>
    </Dialog>
  );
}
