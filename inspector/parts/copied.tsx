/** A request with the tried strategy, to be copied. */
import { useState } from 'preact/hooks';
import { type Copied, LANGUAGES, type Language, SNIPPETS } from '../read/snippets.ts';
import { visible } from '../read/visible.ts';

export function CopyAs({ name, copied }: { name: string; copied: Copied }) {
  const [language, setLanguage] = useState<Language>('curl');
  const [told, setTold] = useState('');
  const text = SNIPPETS[language](copied);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setTold('Copied.'),
      () => setTold('The browser does not allow it. Select the text instead.'),
    );
  };
  return (
    <div class="copied">
      <div class="actions">
        <label class="field inline">
          {name} as
          <select
            value={language}
            onChange={({ currentTarget }) => {
              setTold('');
              setLanguage(currentTarget.value as Language);
            }}
          >
            {LANGUAGES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <button type="button" onClick={copy}>
          Copy
        </button>
        <span class="note" role="status">
          {told}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre class="strategy" tabIndex={0}>
        {visible(text)}
      </pre>
    </div>
  );
}
