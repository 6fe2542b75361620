import { useEffect, useState } from 'preact/hooks';

/** As in `narrow.css`. */
export const NARROW = '(max-width: 760px)';

/** Whether a media query matches, now and when it changes. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const read = (): void => setMatches(list.matches);
    read();
    list.addEventListener('change', read);
    return () => list.removeEventListener('change', read);
  }, [query]);
  return matches;
}
