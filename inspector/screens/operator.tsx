/** The operator's screen: whether the parts of the deployment work, and who uses it. */
import { useMemo, useState } from 'preact/hooks';
import type { DeploymentHealth } from '../api/answers.ts';
import { bearer } from '../api/connection.ts';
import { Operator } from '../api/operator.ts';
import { type Kept, SignIn } from '../api/sign-in.ts';
import { useLoad } from '../api/use-load.ts';
import { duration } from '../parts/numbers.ts';
import { Table } from '../parts/scrolled.tsx';
import { SecretForm } from '../parts/secret-form.tsx';
import { useShownPart } from '../parts/shown-part.ts';
import { SignOut } from '../parts/sign-out.tsx';
import { Of } from '../parts/states.tsx';
import { Dotted, Word } from '../parts/text.tsx';
import { PART_STATES } from '../read/operator-words.ts';
import { PARTS } from '../read/overview.ts';
import { Callers } from './callers.tsx';
import { Overview } from './overview.tsx';

interface Props {
  /** Undefined until a token was entered. */
  readonly signIn: SignIn | undefined;
  readonly onSignIn: (signIn: SignIn | undefined) => void;
}

export function OperatorScreen({ signIn, onSignIn }: Props) {
  const operator = useMemo(() => signIn && new Operator(signIn.credentials), [signIn]);
  if (!signIn || !operator)
    return (
      <TokenForm
        onToken={async (token, kept) => {
          // Before a sign-in is made with it: what the deployment then says is about the token.
          await new Operator(() => bearer(token)).checkToken();
          onSignIn(await SignIn.with('operator', bearer(token), kept));
        }}
      />
    );
  return (
    <main>
      <div class="actions heading">
        <h1>Operator</h1>
        <SignOut signIn={signIn} name="Sign out as operator" onEnd={() => onSignIn(undefined)} />
      </div>
      <Overview operator={operator} />
      <Health operator={operator} />
      <Callers operator={operator} />
    </main>
  );
}

function TokenForm({ onToken }: { onToken: (token: string, kept: Kept) => Promise<void> }) {
  return (
    <SecretForm title="Operator" label="ADMIN_TOKEN" onSecret={onToken}>
      <p>
        Who uses this deployment, how much, and whether its parts work. It needs the <code>ADMIN_TOKEN</code>{' '}
        of the deployment, which is handled like a key, and goes to the operator’s routes alone. Contents of
        conversations are never shown here.
      </p>
    </SecretForm>
  );
}

function Health({ operator }: { operator: Operator }) {
  const [looks, setLooks] = useState(0);
  const heading = useShownPart<HTMLHeadingElement>(PARTS.parts);
  const loaded = useLoad((signal) => operator.health(signal), [operator, looks]);
  return (
    <>
      <div class="actions heading">
        <h2 id={PARTS.parts} ref={heading}>
          Parts
        </h2>
        <button
          type="button"
          class="quiet"
          disabled={loaded.state === 'loading'}
          onClick={() => setLooks(looks + 1)}
        >
          {loaded.state === 'loading' ? 'Looking…' : 'Look again'}
        </button>
      </div>
      <Of loaded={loaded} what="The parts">
        {(health) => <Parts health={health} />}
      </Of>
    </>
  );
}

function Parts({ health: { status, version, rotating, parts } }: { health: DeploymentHealth }) {
  return (
    <>
      <p class="lead">
        <Dotted
          as={
            status === 'ok'
              ? ['All configured parts work.', 'healthy']
              : ['A part of the deployment fails.', 'stuck']
          }
        />{' '}
        <span class="note">
          Precis {version}
          {rotating && '; PRECIS_SECRET_PREVIOUS is set'}
        </span>
      </p>
      <Table
        label="Parts of the deployment"
        class="table parts stacked"
        columns={['part', 'state', 'time, or why']}
      >
        {parts.map((part) => (
          <tr key={part.name} class={part.status === 'off' ? 'unset' : ''}>
            <th scope="row">{part.name}</th>
            <td>
              <Dotted as={PART_STATES[part.status]} />
            </td>
            <td class="note">{part.reason === null ? duration(part.ms) : <Word text={part.reason} />}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
