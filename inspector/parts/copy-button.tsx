/** Copies a text, and says whether the browser has let it. */
import { useEffect, useState } from 'preact/hooks';

export function CopyButton({ text, isPrimary = false }: { text: string; isPrimary?: boolean }) {
  const [message, setMessage] = useState('');
  useEffect(() => setMessage(''), [text]);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setMessage('Copied.'),
      () => setMessage('The browser does not allow it. Select the text instead.'),
    );
  };
  return (
    <>
      <button type="button" class={isPrimary ? 'primary' : undefined} onClick={copy}>
        Copy
      </button>
      <span class="note" role="status">
        {message}
      </span>
    </>
  );
}
