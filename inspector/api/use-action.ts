/** Runs what a person has asked for, and reports how it went. */
import { useState } from 'preact/hooks';
import { type Failure, failureOf } from './connection.ts';

export interface Action {
  readonly isRunning: boolean;
  /** Of the newest run. */
  readonly failure: Failure | undefined;
  /** Does not reject. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
}

export function useAction(): Action {
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const run = async (work: () => Promise<void>): Promise<void> => {
    setRunning(true);
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      setFailure(failureOf(error));
    } finally {
      setRunning(false);
    }
  };
  return { isRunning, failure, run };
}
