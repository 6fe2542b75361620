/** Asks for the caller's key. */
import { Client } from '../api/client.ts';
import { SecretForm } from '../parts/secret-form.tsx';

interface Props {
  /** @param isLocal whether the key names nobody, so that it shows the local tenant's data */
  readonly onClient: (client: Client, isLocal: boolean) => void;
}

export function KeyForm({ onClient }: Props) {
  const enter = async (key: string): Promise<void> => {
    const client = new Client(key);
    const { caller } = await client.deployment();
    onClient(client, caller === 'local_tenant');
  };
  return (
    <SecretForm title="Sign in with your API key" label="API key" onSecret={enter}>
      <p>
        Conversations are kept under the API key of their requests. Enter that key to see them. It stays in
        the memory of this tab: it is not stored, it is in no address, and it is gone when you close or reload
        the tab.
      </p>
    </SecretForm>
  );
}
