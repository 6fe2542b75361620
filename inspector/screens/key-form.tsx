/** Asks for the caller's key. */
import { Client } from '../api/client.ts';
import { credentialsOf } from '../api/connection.ts';
import { type Kept, SignIn } from '../api/sign-in.ts';
import { SecretForm } from '../parts/secret-form.tsx';

interface Props {
  /** @param isLocal whether the key names nobody, so that it shows the local tenant's data */
  readonly onSignIn: (signIn: SignIn, isLocal: boolean) => void;
}

export function KeyForm({ onSignIn }: Props) {
  const enter = async (key: string, kept: Kept): Promise<void> => {
    const signIn = await SignIn.with('caller', credentialsOf(key), kept);
    const { caller } = await new Client(signIn.credentials).deployment();
    onSignIn(signIn, caller === 'local_tenant');
  };
  return (
    <SecretForm title="Sign in with your API key" label="API key" onSecret={enter}>
      <p>
        Conversations are kept under the API key of their requests. Enter that key to see them. It is never
        stored, and is in no address. If you stay signed in, the browser keeps a sealed text instead, which
        only this deployment can open.
      </p>
    </SecretForm>
  );
}
