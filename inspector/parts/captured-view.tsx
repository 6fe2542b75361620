/** The view of a request as it went up, where it was captured. */
import { useState } from 'preact/hooks';
import type { CapturedView } from '../api/answers.ts';
import type { Loaded } from '../api/use-load.ts';
import { messageText } from '../read/message-text.ts';
import { count } from './numbers.ts';
import { Said } from './said.tsx';
import { Of } from './states.tsx';
import { Passage, Word } from './text.tsx';

/** So many messages are added with each press of the button. */
const STEP = 60;

export function Captured({ loaded }: { loaded: Loaded<CapturedView> }) {
  return (
    <Of loaded={loaded}>
      {(view) => (
        <>
          {view.instructions && <Passage text={view.instructions} />}
          <Messages messages={messagesOf(view)} />
          <Tools tools={view.tools ?? []} />
        </>
      )}
    </Of>
  );
}

function messagesOf({ messages, input }: CapturedView): readonly unknown[] {
  if (messages) return messages;
  return typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
}

function Messages({ messages }: { messages: readonly unknown[] }) {
  const [most, setMost] = useState(STEP);
  const left = messages.length - most;
  return (
    <>
      <ol class="captured" start={0}>
        {messages.slice(0, most).map((message, at) => {
          const said = messageText(message);
          return (
            <li key={at}>
              <p class="row-head">
                <span class="index">{at}</span> <Word text={said.role} />
              </p>
              <Said said={said} />
            </li>
          );
        })}
      </ol>
      {left > 0 && (
        <button type="button" class="quiet" onClick={() => setMost(most + STEP)}>
          {count(left)} more messages
        </button>
      )}
    </>
  );
}

function Tools({ tools }: { tools: readonly unknown[] }) {
  if (tools.length === 0) return null;
  return (
    <details>
      <summary>{count(tools.length)} tools</summary>
      <Passage text={JSON.stringify(tools, null, 2)} />
    </details>
  );
}
