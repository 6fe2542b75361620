/** A plan that nobody has sent: when it compacts, and its messages. */
import { useMemo } from 'preact/hooks';
import { TRIGGER_LABELS } from '../../src/memory/run/why.ts';
import type { Explained } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { labelOf } from '../read/codes.ts';
import { rowsOfExplanation } from '../read/fates.ts';
import type { Recorded } from '../read/recorded.ts';
import { Folded } from './folded.tsx';
import { count } from './numbers.ts';
import { Transcript } from './transcript.tsx';
import { Warnings } from './warnings.tsx';

interface Props {
  readonly client: Client;
  readonly explained: Explained;
  readonly recorded: Recorded;
  readonly onRef: (ref: string) => void;
}

export function PlanShown({ client, explained, recorded, onRef }: Props) {
  const { memory, moves, next, summary } = explained;
  const rows = useMemo(() => rowsOfExplanation(explained), [explained]);
  // Items of the Responses API are joined to messages, and Anthropic's messages are split into
  // their results, so their indices are others.
  const contentOf = (index: number): unknown =>
    recorded.field === 'messages' && !recorded.system ? recorded.messages[index] : undefined;
  return (
    <>
      <Warnings codes={memory.warnings} isTried />
      <Folded summary={movesText(moves.length)}>
        {() => (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
            <ol class="moves" tabIndex={0} aria-label="When it compacts">
              {moves.map((move, at) => (
                <li key={at}>
                  In the request with {count(move.messages)} messages, up to message {count(move.frontier)},
                  because {labelOf(TRIGGER_LABELS, move.trigger)}: {count(move.before)} → {count(move.after)}{' '}
                  tokens.
                </li>
              ))}
            </ol>
            <p class="note">{nextWords(next)}</p>
          </>
        )}
      </Folded>
      <Transcript
        client={client}
        rows={rows}
        contentOf={contentOf}
        inserted={[]}
        isPotential
        onRef={onRef}
        summary={
          summary && (
            <p>
              A summary of up to {count(summary.tokens)} tokens would replace the messages {summary.covers[0]}{' '}
              to {summary.covers[1]}.
            </p>
          )
        }
      />
    </>
  );
}

function movesText(moves: number): string {
  if (moves === 0) return 'It compacts nothing, since nothing was due';
  return `It compacts ${count(moves)} ${moves === 1 ? 'time' : 'times'} on the way`;
}

function nextWords(next: Explained['next']): string {
  if (!next) return 'It will not compact again soon.';
  const { edits, summarizes } = next;
  const freed = edits.reduce((sum, edit) => sum + edit.freed, 0);
  const placeholders =
    edits.length === 0 ? '' : `replace ${count(edits.length)} contents and free ${count(freed)} tokens`;
  const covered = summarizes ? `summarize the messages ${summarizes[0]} to ${summarizes[1]}` : '';
  return `Next time it would ${[placeholders, covered].filter((words) => words !== '').join(', and ')}.`;
}
