/** What a screen shows while something is loading, is empty, or has failed. */
import type { ComponentChildren } from 'preact';
import type { Loaded } from '../api/use-load.ts';

export function Loading() {
  return (
    <p class="state" role="status">
      Loading…
    </p>
  );
}

export function Failed({ failure }: { failure: { code: string; message: string } }) {
  return (
    <div class="state failed" role="alert">
      <p>{failure.message}</p>
      <p class="note">{failure.code}</p>
    </div>
  );
}

/** An empty panel says why it is empty. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="state empty">{children}</div>;
}

/** The value once it is there; until then, why it is not. */
export function Of<Value>({
  loaded,
  children,
}: {
  loaded: Loaded<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  return (
    <>
      {loaded.state === 'failed' && <Failed failure={loaded.failure} />}
      {loaded.state === 'loading' && loaded.value === undefined && <Loading />}
      {loaded.value !== undefined && children(loaded.value)}
    </>
  );
}
