/** Signs out: this page, or everywhere. */
import { useState } from 'preact/hooks';
import type { SignIn } from '../api/sign-in.ts';
import { useAction } from '../api/use-action.ts';
import { Dialog } from './dialog.tsx';
import { Failed } from './states.tsx';

interface Props {
  readonly signIn: SignIn;
  readonly onEnd: () => void;
  /** Of the button. */
  readonly name?: string;
}

export function SignOut({ signIn, onEnd, name = 'Sign out' }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { isRunning, failure, run } = useAction();
  const end = (everywhere: boolean): Promise<void> =>
    run(async () => {
      await signIn.end(everywhere);
      onEnd();
    });
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        {name}
      </button>
      {isOpen && (
        <Dialog title="Sign out" onClose={() => setOpen(false)}>
          <p>
            Everywhere: in all browsers that stay signed in with the same key. Pages that are open there end
            within five minutes.
          </p>
          <div class="actions">
            <button type="button" class="primary" disabled={isRunning} onClick={() => void end(false)}>
              Sign out here
            </button>
            <button type="button" disabled={isRunning} onClick={() => void end(true)}>
              Sign out everywhere
            </button>
          </div>
          {failure && <Failed failure={failure} />}
        </Dialog>
      )}
    </>
  );
}
