/** Asks for a key or a token. It goes into a variable of this page, and nowhere else. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { Failed } from './states.tsx';

interface Props {
  readonly title: string;
  readonly label: string;
  /** Opens something with the secret; rejects with why it can't. */
  readonly onSecret: (secret: string) => Promise<void>;
  readonly children: ComponentChildren;
}

export function SecretForm({ title, label, onSecret, children }: Props) {
  const [typed, setTyped] = useState('');
  const { isRunning, failure, run } = useAction();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <main class="key-form">
      <h1>{title}</h1>
      {children}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() !== '') void run(() => onSecret(typed.trim()));
        }}
      >
        <label class="field">
          {label}
          <input
            ref={field}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={isRunning}>
          {isRunning ? 'Asking…' : 'Open'}
        </button>
      </form>
      {failure && <Failed failure={failure} />}
    </main>
  );
}
