/** Asks for the key. It goes into a variable of this page, and nowhere else. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Client, Failure } from '../api/client.ts';
import { Failed } from '../parts/states.tsx';

interface Props {
  /** @param isLocal whether the key names nobody, so that it shows the local tenant's data */
  readonly onClient: (client: Client, isLocal: boolean) => void;
}

export function KeyForm({ onClient }: Props) {
  const [typed, setTyped] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const enter = async (): Promise<void> => {
    const client = new Client(typed.trim());
    setAsking(true);
    setFailure(undefined);
    try {
      const { caller } = await client.deployment();
      onClient(client, caller === 'local_tenant');
    } catch (error) {
      setFailure(error instanceof Failure ? error : new Failure(0, 'page_failed', `${error}`));
    } finally {
      setAsking(false);
    }
  };
  return (
    <main class="key-form">
      <h1>Which key?</h1>
      <p>
        Conversations are kept under the API key of their requests. Enter that key to see them. It stays in
        the memory of this tab: it is not stored, it is in no address, and it is gone when you close or reload
        the tab.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() !== '') void enter();
        }}
      >
        <label class="field">
          API key
          <input
            ref={field}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={isAsking}>
          {isAsking ? 'Asking…' : 'Open'}
        </button>
      </form>
      {failure && <Failed failure={failure} />}
    </main>
  );
}
