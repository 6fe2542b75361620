/**
 * Condensing: shows a tool output that is JSON as the same value in fewer tokens
 * (docs/design.md#condensed-outputs). It takes nothing from the model, so it is made at first sight
 * and holds until the output itself is removed.
 *
 * The reader rewrites the source and never parses values. `auto` takes what a condensed output has
 * freed already off what its later placeholder frees, and renders one of both.
 */
import { elementAt } from '../../../lib/elements.ts';
import type { History, Output } from '../../conversation/history.ts';
import type { Message } from '../../conversation/message.ts';
import type { CompactSettings } from '../../strategy/fields.ts';
import { type CompactContext, candidateOf, remembered, remove } from '../compact.ts';
import { writeCondensedLine } from '../placeholder.ts';
import type { Removal } from '../removal.ts';
import { condenseJson } from './condensed-json.ts';

/** In bytes. In smaller outputs the marker would cost more than the white space. */
const SMALLEST = 300;
/** In tokens. Storing the original costs a write, and the request waits for it. */
const LEAST_FREED = 32;

/** Whether an output of a history may be condensed, by its size alone. */
export function mayCondense({ units, messages }: History): boolean {
  return units.some(({ outputs }) =>
    outputs.some(({ message }) => elementAt(messages, message).bytes >= SMALLEST),
  );
}

/**
 * The condensed outputs of a history.
 *
 * @param others messages of the outputs that are edited otherwise
 */
export function condensedOutputs(
  history: History,
  strategy: CompactSettings,
  context: CompactContext,
  others: ReadonlySet<number>,
): Removal[] {
  return history.units
    .flatMap(({ outputs }) => outputs)
    .filter(({ message }) => !others.has(message))
    .flatMap((output) => condenseOutput(history, output, strategy, context) ?? []);
}

/**
 * The condensed form of a tool output; undefined if it is no JSON, if it would not have fewer
 * tokens with its marker, or if nothing can store the original.
 */
export function condenseOutput(
  history: History,
  output: Output,
  strategy: CompactSettings,
  context: CompactContext,
): Removal | undefined {
  if (!context.keep || !context.refs) return undefined;
  const message = elementAt(history.messages, output.message);
  if (message.bytes < SMALLEST) return undefined;
  return remembered('condensed', message, context, () => condense(output, message, strategy, context));
}

function condense(
  output: Output,
  message: Message,
  strategy: CompactSettings,
  context: CompactContext,
): Removal | undefined {
  const { texts, flat } = message.content().weight;
  const [text] = texts;
  if (flat > 0 || text === undefined || texts.length > 1) return undefined;
  const condensed = condenseJson(text);
  if (!condensed) return undefined;
  const removal = remove(
    {
      ...candidateOf(output, message, context),
      reason: 'condensed',
      least: 0,
      replacements: ({ ref }) =>
        ref === undefined ? [] : [`${writeCondensedLine(ref, condensed)}\n${condensed.text}`],
    },
    strategy,
    context,
  );
  return removal && removal.freed >= LEAST_FREED ? removal : undefined;
}

/**
 * What a removal frees of an output whose condensed form stands in the view. None if the condensed
 * form is shorter still.
 */
export function freedOver(removal: Removal, condensed: Removal | undefined): Removal | undefined {
  if (!condensed || removal.kind !== 'output') return removal;
  const freed = removal.freed - condensed.freed;
  return freed > 0 ? { ...removal, freed } : undefined;
}
