/** Loads something for a component, and lets go of what is no longer wanted. */
import { type Inputs, useEffect, useState } from 'preact/hooks';
import { type Failure, failureOf } from './connection.ts';

export type Loaded<Value> =
  | { readonly state: 'loading'; readonly value?: Value }
  | { readonly state: 'ready'; readonly value: Value }
  /** An earlier value stays. */
  | { readonly state: 'failed'; readonly failure: Failure; readonly value?: Value };

/**
 * Loads again when an input changes. The earlier value stays while the next one is loading.
 *
 * @param load may call `show` with a part of the value before it is complete
 */
export function useLoad<Value>(
  load: (signal: AbortSignal, show: (part: Value) => void) => Promise<Value>,
  inputs: Inputs,
): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ state: 'loading' });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const show = (part: Value): void => {
      if (!signal.aborted) setLoaded({ state: 'loading', value: part });
    };
    setLoaded((before) => ({
      ...(before.value === undefined ? {} : { value: before.value }),
      state: 'loading',
    }));
    load(signal, show).then(
      (value) => {
        if (!signal.aborted) setLoaded({ state: 'ready', value });
      },
      (error: unknown) => {
        if (signal.aborted) return;
        const failure = failureOf(error);
        setLoaded((before) => ({
          ...(before.value === undefined ? {} : { value: before.value }),
          state: 'failed',
          failure,
        }));
      },
    );
    return () => controller.abort();
  }, inputs);
  return loaded;
}
