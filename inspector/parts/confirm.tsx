/** Words that must be typed before something is deleted. */
import { useState } from 'preact/hooks';

interface Props {
  readonly words: string;
  readonly onTyped: (isRight: boolean) => void;
}

export function ConfirmField({ words, onTyped }: Props) {
  const [typed, setTyped] = useState('');
  return (
    <label class="field">
      Type “{words}” to confirm
      <input
        type="text"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={({ currentTarget: { value } }) => {
          setTyped(value);
          onTyped(value === words);
        }}
      />
    </label>
  );
}
