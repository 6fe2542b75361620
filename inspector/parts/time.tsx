/** A moment as people name it, with its date on hover and for programs. */
import { ago, moment, UNKNOWN } from './numbers.ts';

/** @param at seconds since 1970 */
export function Ago({ at }: { readonly at: number | null | undefined }) {
  if (at === null || at === undefined) return <>{UNKNOWN}</>;
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={`${moment(at)} UTC`}>
      {ago(at, Date.now() / 1_000)}
    </time>
  );
}
