/** Loads something for a component, and lets go of what is no longer wanted. */
import { type Inputs, useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { type Failure, failureOf } from './connection.ts';

/** `again` loads it once more. */
export type Loaded<Value> = { readonly again: () => void } & Loading<Value>;

type Loading<Value> =
  | { readonly state: 'loading'; readonly value?: Value }
  | { readonly state: 'ready'; readonly value: Value }
  /** An earlier value stays. */
  | { readonly state: 'failed'; readonly failure: Failure; readonly value?: Value };

/** Between two loads of what may have grown, in milliseconds. */
const LIVE_MS = 10_000;

/**
 * Loads again when an input changes, and when the connection is back. The earlier value stays while
 * the next one is loading.
 *
 * @param load may call `show` with a part of the value before it is complete; `before` is the value
 *   that it replaces
 */
export function useLoad<Value>(
  load: (signal: AbortSignal, show: (part: Value) => void, before: Value | undefined) => Promise<Value>,
  inputs: Inputs,
): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loading<Value>>({ state: 'loading' });
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let isCutOff = false;
    // There from the beginning: an effect that waits for the failure to be drawn may be too late.
    addEventListener('online', () => isCutOff && again(), { signal });
    const show = (part: Value): void => {
      if (!signal.aborted) setLoaded({ state: 'loading', value: part });
    };
    const kept = (before: Loading<Value>) => (before.value === undefined ? {} : { value: before.value });
    setLoaded((before) => ({ ...kept(before), state: 'loading' }));
    load(signal, show, loaded.value).then(
      (value) => {
        if (!signal.aborted) setLoaded({ state: 'ready', value });
      },
      (error: unknown) => {
        if (signal.aborted) return;
        const failure = failureOf(error);
        isCutOff = failure.status === 0;
        setLoaded((before) => ({ ...kept(before), state: 'failed', failure }));
      },
    );
    return () => controller.abort();
  }, [...inputs, turn]);
  // The same as long as nothing changes, since other loads depend on it.
  return useMemo(() => ({ ...loaded, again }), [loaded, again]);
}

/** Loads it again and again while the tab is seen, until that fails. */
export function useLive({ state, again }: Loaded<unknown>): void {
  useEffect(() => {
    if (state !== 'ready') return undefined;
    let isDue = false;
    const look = (): void => {
      if (isDue && document.visibilityState === 'visible') again();
    };
    const timer = setTimeout(() => {
      isDue = true;
      look();
    }, LIVE_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [state, again]);
}
