/** What a screen shows while something is loading, is empty, or has failed. */
import type { ComponentChildren } from 'preact';
import type { Loaded } from '../api/use-load.ts';
import { visible } from '../read/visible.ts';

/** Gray bars, about as high as what is loading. */
export function Loading({ lines = 3, class: name = '' }: { lines?: number | undefined; class?: string }) {
  return (
    <div class={`skeleton ${name}`} role="status">
      <span class="sr-only">Loading…</span>
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} aria-hidden="true" />
      ))}
    </div>
  );
}

interface FailedProps {
  readonly failure: {
    readonly code: string;
    readonly message: string;
    readonly status?: number;
    readonly requestId?: string | undefined;
  };
  /** What could not be read, at the beginning of a sentence. */
  readonly what?: string | undefined;
  readonly onAgain?: (() => void) | undefined;
}

const OFFLINE = 'This browser is offline. The page tries again when the connection is back.';

/** Why it has failed, what can be done, and the id under which the Worker's log has it. */
export function Failed({ failure: { code, message, status, requestId }, what, onAgain }: FailedProps) {
  const why = status === 0 && !navigator.onLine ? OFFLINE : visible(message);
  return (
    <div class="state failed" role="alert">
      {what !== undefined && <b>{what} could not be read.</b>}
      <p>{why}</p>
      {status === 401 && onAgain && (
        <p>The key may have expired or been withdrawn: sign out, and enter another one.</p>
      )}
      <p class="note">
        {visible(code)}
        {requestId !== undefined && (
          <>
            {' '}
            · <code>{requestId}</code>
          </>
        )}
      </p>
      {onAgain && (
        <button type="button" onClick={onAgain}>
          Try again
        </button>
      )}
    </div>
  );
}

/** An empty panel says why it is empty. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="state empty">{children}</div>;
}

/** The value once it is there; until then, why it is not. An earlier one is shown as such. */
export function Of<Value>({
  loaded,
  lines,
  what,
  children,
}: {
  loaded: Loaded<Value>;
  /** What is read, at the beginning of a sentence about its failure. */
  what?: string;
  /** Of its skeleton. */
  lines?: number;
  children: (value: Value) => ComponentChildren;
}) {
  return (
    <>
      {loaded.state === 'failed' && <Failed what={what} failure={loaded.failure} onAgain={loaded.again} />}
      {loaded.state === 'loading' && loaded.value === undefined && <Loading lines={lines} />}
      {loaded.value !== undefined && (
        <div class={loaded.state === 'failed' ? 'stale' : undefined}>
          {loaded.state === 'failed' && <p class="note">What follows was read earlier.</p>}
          {children(loaded.value)}
        </div>
      )}
    </>
  );
}
