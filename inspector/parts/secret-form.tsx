/** Asks for a key or a token, and how long the browser stays signed in with it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Kept } from '../api/sign-in.ts';
import { useAction } from '../api/use-action.ts';
import { Select } from './select.tsx';
import { Failed } from './states.tsx';
import { submitted } from './submitted.ts';

interface Props {
  readonly title: string;
  readonly label: string;
  /** Opens something with the secret; rejects with why it can't. */
  readonly onSecret: (secret: string, kept: Kept) => Promise<void>;
  readonly children: ComponentChildren;
}

const CHOICES: readonly (readonly [Kept, string])[] = [
  ['no', 'Until this page is reloaded'],
  ['tab', 'In this tab, for 12 hours'],
  ['browser', 'In this browser, for 7 days'],
];

export function SecretForm({ title, label, onSecret, children }: Props) {
  const [typed, setTyped] = useState('');
  const [kept, setKept] = useState<Kept>('no');
  const { isRunning, failure, run } = useAction();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <main class="key-form">
      <h1>{title}</h1>
      <form onSubmit={submitted(() => typed.trim() !== '' && void run(() => onSecret(typed.trim(), kept)))}>
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
        <Select name="Stay signed in" value={kept} options={CHOICES} onChoose={setKept} />
        <button type="submit" class="primary" disabled={isRunning}>
          {isRunning ? 'Asking…' : 'Open'}
        </button>
      </form>
      {failure && <Failed failure={failure} />}
      <div class="note">{children}</div>
    </main>
  );
}
