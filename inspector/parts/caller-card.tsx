/** A caller in the operator's list. */
import type { ShownCaller } from '../api/answers.ts';
import { limitLines, seenWords, usedWords } from '../read/callers.ts';
import { CALLER_STATES } from '../read/operator-words.ts';
import { callerAnchor } from '../read/overview.ts';
import { visible } from '../read/visible.ts';
import { Figure } from './figure.tsx';
import { count } from './numbers.ts';
import { useShownPart } from './shown-part.ts';
import { Dotted, Word } from './text.tsx';

/** What an operator is about to do to a caller, in a dialog. */
export type Doing = 'limit' | 'delete';

interface Props {
  readonly caller: ShownCaller;
  /** Disables an active caller, and opens any other. */
  readonly onOpen: (caller: ShownCaller) => Promise<void>;
  readonly onAbout: (caller: ShownCaller, doing: Doing) => void;
}

const KEYS = { configured: 'key in ACCESS_KEYS', made: 'key made by an operator' } as const;

const OPENING = { active: 'Disable', disabled: 'Enable', deleted: 'Add again' } as const;

export function CallerCard({ caller, onOpen, onAbout }: Props) {
  const { name, kind, state, key } = caller;
  const part = useShownPart<HTMLLIElement>(callerAnchor(name));
  const own = kind === 'tenant' ? 'its own key' : 'no key';
  return (
    <li id={callerAnchor(name)} ref={part} class={`card caller ${state}`}>
      <div class="card-name">
        <strong title={visible(name)}>
          <Word text={name} />
        </strong>
        <span class="note">{key === null ? own : KEYS[key]}</span>
        <Dotted as={CALLER_STATES[state]} />
      </div>
      <Use caller={caller} />
      <div class="actions">
        <button type="button" aria-label={`${OPENING[state]} ${name}`} onClick={() => void onOpen(caller)}>
          {OPENING[state]}
        </button>
        {kind === 'access_key' && state !== 'deleted' && (
          <button type="button" aria-label={`Limits of ${name}`} onClick={() => onAbout(caller, 'limit')}>
            Limits
          </button>
        )}
        {state !== 'deleted' && (
          <button
            type="button"
            class="fails"
            aria-label={`Delete ${name}`}
            onClick={() => onAbout(caller, 'delete')}
          >
            Delete…
          </button>
        )}
      </div>
    </li>
  );
}

function Use({ caller }: { caller: ShownCaller }) {
  const { kind, today, month, limits_from: from, last_seen_at: seen } = caller;
  const lines = limitLines(caller);
  const none = kind === 'tenant' ? 'none: it spends its own money' : 'none';
  return (
    <dl class="figures">
      {(
        [
          ['today', today],
          ['this month', month],
        ] as const
      ).map(([label, usage]) => (
        <Figure key={label} term={label}>
          {usedWords(usage)}
          {usage.requests.failed > 0 && <span class="fails"> {count(usage.requests.failed)} failed</span>}
        </Figure>
      ))}
      <Figure term={['limits', from !== null && (from === 'operator' ? ', set here' : ' of CALLER_LIMITS')]}>
        {lines.length === 0
          ? none
          : lines.map((line) => (
              <div key={line}>
                <Word text={line} />
              </div>
            ))}
      </Figure>
      <Figure term="last seen">{seenWords(seen, Date.now() / 1_000)}</Figure>
    </dl>
  );
}
