/** The warnings of a request; those that report no fault have no colour of alarm. */
import { isNotice } from '../../src/memory/plan/notices.ts';

export function Warnings({ codes }: { readonly codes: readonly string[] }) {
  const notices = codes.filter(isNotice);
  const others = codes.filter((code) => !isNotice(code));
  return (
    <>
      {others.length > 0 && <p class="warnings">Warnings: {others.join(', ')}</p>}
      {notices.length > 0 && <p class="note">Notices: {notices.join(', ')}</p>}
    </>
  );
}
