/** The warnings of a request, each in a sentence; those that report no fault alarm nobody. */
import { isNotice } from '../../src/memory/plan/notices.ts';
import { warningWords } from '../read/codes.ts';

interface Props {
  readonly codes: readonly string[];
  /** Whether they are about a plan that nobody sends. */
  readonly isTried?: boolean;
}

export function Warnings({ codes, isTried = false }: Props) {
  if (codes.length === 0) return null;
  return (
    <ul class="codes">
      {codes.map((code) => {
        const { label, says } = warningWords(code, isTried);
        return (
          <li key={code} class={isNotice(code) ? 'notice' : 'warning'}>
            <b>{label}</b> <Sentence text={says} />
          </li>
        );
      })}
    </ul>
  );
}

/** A sentence of the documentation, with its names of fields as code. */
function Sentence({ text }: { text: string }) {
  return (
    <span>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</span>
  );
}
