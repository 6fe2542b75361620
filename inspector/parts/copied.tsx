/** A request with the tried strategy, to be copied. */
import { useState } from 'preact/hooks';
import { type Copied, LANGUAGES, type Language, SNIPPETS } from '../read/snippets.ts';
import { visible } from '../read/visible.ts';
import { CopyButton } from './copy-button.tsx';

export function CopyAs({ name, copied }: { name: string; copied: Copied }) {
  const [language, setLanguage] = useState<Language>('curl');
  const text = SNIPPETS[language](copied);
  return (
    <div class="copied">
      <div class="actions">
        <label class="field inline">
          {name} as
          <select
            value={language}
            onChange={({ currentTarget }) => setLanguage(currentTarget.value as Language)}
          >
            {LANGUAGES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre class="strategy" tabIndex={0}>
        {visible(text)}
      </pre>
    </div>
  );
}
