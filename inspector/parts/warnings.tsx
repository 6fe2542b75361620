/** The warnings of a request, each in a sentence; those that report no fault alarm nobody. */
import { isNotice } from '../../src/memory/plan/notices.ts';
import { labelOf, WARNING_LABELS, warningSentence } from '../read/codes.ts';

export function Warnings({ codes }: { readonly codes: readonly string[] }) {
  if (codes.length === 0) return null;
  return (
    <ul class="told">
      {codes.map((code) => (
        <li key={code} class={isNotice(code) ? 'notice' : 'warning'}>
          <b>{labelOf(WARNING_LABELS, code)}</b> <Sentence text={warningSentence(code) ?? code} />
        </li>
      ))}
    </ul>
  );
}

/** A sentence of the documentation, with its names of fields as code. */
function Sentence({ text }: { text: string }) {
  return (
    <span>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</span>
  );
}
