/** A request with the tried strategy, to be copied. */
import { useState } from 'preact/hooks';
import { type Copied, LANGUAGES, type Language, SNIPPETS } from '../read/snippets.ts';
import { visible } from '../read/visible.ts';
import { CopyButton } from './copy-button.tsx';
import { Code } from './scrolled.tsx';
import { Select } from './select.tsx';

export function CopyAs({ name, copied }: { name: string; copied: Copied }) {
  const [language, setLanguage] = useState<Language>('curl');
  const text = SNIPPETS[language](copied);
  return (
    <div class="copied">
      <div class="actions">
        <Select
          class="field inline"
          name={`${name} as`}
          value={language}
          options={LANGUAGES.map((one) => [one, one])}
          onChoose={setLanguage}
        />
        <CopyButton text={text} />
      </div>
      <Code text={visible(text)} />
    </div>
  );
}
