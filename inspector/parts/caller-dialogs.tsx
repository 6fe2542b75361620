/** What an operator does to a caller in a dialog: sets its limits, deletes it. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { CallerLimits, ShownCaller } from '../api/answers.ts';
import type { Operator } from '../api/operator.ts';
import { type Action, useAction } from '../api/use-action.ts';
import { LIMIT_FIELDS, limitsOf, type TypedLimits, typedLimits } from '../read/callers.ts';
import { ConfirmField } from './confirm.tsx';
import { Dialog } from './dialog.tsx';
import { Failed } from './states.tsx';
import { submitted } from './submitted.ts';

export interface CallerDialog {
  readonly caller: ShownCaller;
  readonly operator: Operator;
  /** Called with what has happened. */
  readonly onChanged: (words: string) => void;
  readonly onClose: () => void;
}

export function LimitCaller({
  caller: { name, limits, limits_from: from },
  operator,
  onChanged,
  onClose,
}: CallerDialog) {
  const [typed, setTyped] = useState(() => typedLimits(limits));
  const action = useAction();
  const set = (chosen: CallerLimits | null): Promise<void> =>
    action.run(async () => {
      await operator.change(name, { limits: chosen });
      onChanged(`The limits of ${name} were set.`);
      onClose();
    });
  return (
    <Dialog title={`Limits of ${name}`} onClose={onClose}>
      <form onSubmit={submitted(() => void set(limitsOf(typed)))}>
        <LimitFields typed={typed} onTyped={setTyped} />
        <p class="note">
          An empty field is no limit. These replace all limits in <code>CALLER_LIMITS</code>, and hold
          everywhere within 20 seconds.
        </p>
        <Decision action={action} name="Set the limits">
          {from === 'operator' && (
            <button type="button" onClick={() => void set(null)}>
              Reset to CALLER_LIMITS
            </button>
          )}
        </Decision>
      </form>
    </Dialog>
  );
}

interface FieldsProps {
  readonly typed: TypedLimits;
  readonly onTyped: (typed: TypedLimits) => void;
}

function LimitFields({ typed, onTyped }: FieldsProps) {
  return (
    <>
      <div class="limits">
        {LIMIT_FIELDS.map(([field, label]) => (
          <label key={field} class="field">
            {label}
            <input
              type="number"
              min={0}
              step={field.startsWith('usd') ? 'any' : 1}
              value={typed[field]}
              onInput={({ currentTarget }) => onTyped({ ...typed, [field]: currentTarget.value })}
            />
          </label>
        ))}
      </div>
      <label class="field">
        Allowed models, one per line (gpt-6* matches a prefix; none blocks all)
        <textarea
          rows={3}
          spellcheck={false}
          value={typed.models}
          onInput={({ currentTarget }) => onTyped({ ...typed, models: currentTarget.value })}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={typed.allowsUnpriced}
          onChange={({ currentTarget }) => onTyped({ ...typed, allowsUnpriced: currentTarget.checked })}
        />
        Under a budget in dollars, allow models without a known price (not counted)
      </label>
    </>
  );
}

export function DeleteCaller({ caller: { name }, operator, onChanged, onClose }: CallerDialog) {
  const [isRight, setRight] = useState(false);
  const action = useAction();
  const remove = (): Promise<void> =>
    action.run(async () => {
      const isWhole = await operator.delete(name);
      onChanged(`${name} was deleted${isWhole ? '' : '; the rest of its data follows in the background'}.`);
      onClose();
    });
  return (
    <Dialog title={`Delete ${name}`} onClose={onClose}>
      <form onSubmit={submitted(() => isRight && void remove())}>
        <p>
          All conversations, contents and summaries of this caller are deleted, and its key is refused from
          then on. This can’t be undone.
        </p>
        <ConfirmField words={name} onTyped={setRight} />
        <Decision action={action} name="Delete the caller" isConfirmed={isRight} />
      </form>
    </Dialog>
  );
}

interface DecisionProps {
  readonly action: Action;
  /** Of the button. */
  readonly name: string;
  /** Of what can't be undone: whether its words were typed. */
  readonly isConfirmed?: boolean;
  readonly children?: ComponentChildren;
}

/** The button that does it, others beside it, and why it has failed. */
function Decision({ action: { isRunning, failure }, name, isConfirmed, children }: DecisionProps) {
  const kind = isConfirmed === undefined ? 'primary' : 'primary danger';
  return (
    <>
      <div class="actions">
        <button type="submit" class={kind} disabled={isRunning || isConfirmed === false}>
          {name}
        </button>
        {children}
      </div>
      {failure && <Failed failure={failure} />}
    </>
  );
}
