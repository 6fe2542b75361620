/** The summary of some days in sentences, to be copied or saved as a picture. */
import { useEffect, useState } from 'preact/hooks';
import type { Client } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { CopyButton } from './copy-button.tsx';
import { Failed } from './states.tsx';

interface Forwarded {
  readonly text: string;
  /** The address of the picture, in this tab alone. */
  readonly picture: string;
}

export function Forward({ client, days }: { client: Client; days: number }) {
  const [made, setMade] = useState<Forwarded>();
  const { isRunning, failure, run } = useAction();
  useEffect(() => setMade(undefined), [client, days]);
  useEffect(() => () => URL.revokeObjectURL(made?.picture ?? ''), [made]);
  const make = (): Promise<void> =>
    run(async () => {
      const [text, picture] = await Promise.all([client.summary(days), client.summaryPicture(days)]);
      setMade({ text, picture: URL.createObjectURL(picture) });
    });
  if (!made)
    return (
      <div class="actions">
        <button type="button" class="quiet" disabled={isRunning} onClick={() => void make()}>
          Say it in a sentence to forward
        </button>
        {failure && <Failed failure={failure} onAgain={() => void make()} />}
      </div>
    );
  return (
    <>
      <p class="note">{made.text}</p>
      <div class="actions">
        <CopyButton text={made.text} />
        <a href={made.picture} download={`precis-${days}-days.svg`}>
          Save as a picture
        </a>
      </div>
    </>
  );
}
