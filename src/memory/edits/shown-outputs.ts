/** The outputs after a summary, as they are written in a view. */
import { elementAt } from '../../lib/elements.ts';
import type { History } from '../conversation/history.ts';
import { writeOutput, writeRehydrated } from '../conversation/rehydrated-outputs.ts';
import { type Rehydrated, type RehydratedOutput, rehydratedText } from './rehydrate.ts';
import type { Removal } from './removal.ts';

/** An output in the view, and its removal, by which it can be fetched later. */
export interface ShownOutput extends RehydratedOutput {
  /** Absent if the content is not known to be written. */
  readonly removal?: Removal;
}

/** Several outputs, ready to be written. */
export interface ShownOutputs {
  /** Oldest first. */
  readonly outputs: readonly ShownOutput[];
  /** The block with all of them. */
  readonly text: string;
  /** Identifies the text. */
  readonly key: string;
}

/**
 * The outputs after a summary.
 *
 * @param removals of the plan, by which contents are written
 * @param isWritten whether a ref's content is known to be written
 */
export function showOutputs(
  { messages }: Pick<History, 'messages'>,
  rehydrated: Rehydrated,
  removals: readonly Removal[],
  isWritten: (ref: string) => boolean,
): ShownOutputs {
  const written = new Map<number, Removal>();
  for (const removal of removals)
    if (removal.kind === 'output' && removal.ref !== undefined && isWritten(removal.ref))
      written.set(removal.message, removal);
  const outputs = rehydrated.outputs.map((output): ShownOutput => {
    const removal = written.get(output.message);
    return removal ? { ...output, removal } : output;
  });
  const fenced = outputs.map(({ message, fence, removal }) => ({
    message: elementAt(messages, message),
    fence: { ...fence, ref: removal?.ref },
  }));
  return {
    outputs,
    text: writeRehydrated(fenced.map(({ message, fence }) => writeOutput(fence, rehydratedText(message)))),
    key: JSON.stringify(fenced.map(({ message, fence }) => [message.digest, fence])),
  };
}
