/** The view of the list that the address has. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import { fragmentOfView, type ListView, viewIn } from '../read/list-view.ts';

/** Changes the address in place, so that going back leaves the list. */
export function useView(): [ListView, (changes: Partial<ListView>) => void] {
  const [view, setView] = useState(() => viewIn(location.hash));
  useEffect(() => {
    const read = (): void => setView(viewIn(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  const change = useCallback((changes: Partial<ListView>) => {
    const next = { ...viewIn(location.hash), ...changes };
    history.replaceState(history.state, '', fragmentOfView(next));
    setView(next);
  }, []);
  return [view, change];
}
