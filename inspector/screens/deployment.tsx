/** This deployment: whether it answers, how it is configured, and its metrics. */
import { useState } from 'preact/hooks';
import type { DeploymentFacts } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { Figure } from '../parts/figure.tsx';
import { count } from '../parts/numbers.ts';
import { Code, Table } from '../parts/scrolled.tsx';
import { Of } from '../parts/states.tsx';
import { submitted } from '../parts/submitted.ts';
import { Word } from '../parts/text.tsx';
import { labelOf, MODE_LABELS } from '../read/codes.ts';
import { readExposition } from '../read/exposition.ts';

export function Deployment({ client }: { client: Client }) {
  const health = useLoad((signal) => client.health(signal), [client]);
  const facts = useLoad((signal) => client.deployment(signal), [client]);
  return (
    <main>
      <h1>This deployment</h1>
      <Of loaded={health} what="The health">
        {({ isHealthy, word }) => (
          <p class="lead">
            <span class={`status ${isHealthy ? 'healthy' : 'stuck'}`}>
              {isHealthy
                ? 'Healthy'
                : 'It refuses all requests: its configuration is wrong. The log has the details.'}
            </span>{' '}
            {!isHealthy && <span class="note">Its health check says “{word}”.</span>}
          </p>
        )}
      </Of>
      <Of loaded={facts} what="The configuration">
        {(known) => (
          <>
            <Retiring models={known.retiring} />
            <Facts facts={known} />
            <h2>Metrics</h2>
            {known.metrics ? (
              <Metrics client={client} />
            ) : (
              <p class="note">
                Nothing is counted: the deployment sets no <code>METRICS_TOKEN</code>.
              </p>
            )}
            <Configuration facts={known} />
          </>
        )}
      </Of>
    </main>
  );
}

function Retiring({ models }: { models: DeploymentFacts['retiring'] }) {
  if (models.length === 0) return null;
  return (
    <ul class="warnings">
      {models.map(({ setting, model, on, replacement }) => (
        <li key={`${setting} ${model}`}>
          <Word text={model} /> ({setting}) is switched off by its vendor on {on}
          {replacement === null ? '' : `; the vendor recommends ${replacement}`}.
        </li>
      ))}
    </ul>
  );
}

const ACCESS: Readonly<Record<DeploymentFacts['access'], string>> = {
  callers_keys: 'callers bring their own keys',
  access_keys: 'callers have access keys of this deployment',
  local_tenant: 'callers need no key; those without one share what is stored',
};

function Facts({ facts }: { facts: DeploymentFacts }) {
  const { version, modes, agents, access } = facts;
  return (
    <dl class="figures facts">
      <Figure term="version">{version}</Figure>
      <Figure term="access">{ACCESS[access]}</Figure>
      <Figure term="agents">{agents.join(', ') || 'none'}</Figure>
      <Figure class="whole" term="modes">
        {modes.map((mode, at) => (
          <span key={mode}>
            {at > 0 && ', '}
            {labelOf(MODE_LABELS, mode)} <span class="note">({mode})</span>
          </span>
        ))}
      </Figure>
    </dl>
  );
}

/** What is set is in front, and the rest is folded. */
function Configuration({ facts: { default_strategy: strategy, variables } }: { facts: DeploymentFacts }) {
  const unset = variables.filter((one) => !one.set);
  return (
    <>
      <h2>Variables</h2>
      <p class="note">Secrets and URLs are never shown, only whether they are set.</p>
      <Variables label="Variables that are set" variables={variables.filter((one) => one.set)} />
      <details class="fold">
        <summary>{unset.length} more are not set</summary>
        <Variables label="Variables that are not set" variables={unset} />
      </details>
      <h2>Default strategy</h2>
      <Code text={JSON.stringify(strategy, null, 2)} />
    </>
  );
}

interface VariablesProps {
  readonly label: string;
  readonly variables: DeploymentFacts['variables'];
}

function Variables({ label, variables }: VariablesProps) {
  return (
    <Table label={label} columns={['name', 'value']}>
      {variables.map(({ name, set, value }) => (
        <tr key={name} class={set ? '' : 'unset'}>
          <th scope="row">{name}</th>
          <td>{value === null ? set ? 'set' : 'not set' : <Word text={value} />}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The operator pastes the token. It is kept as long as this screen is open. */
function Metrics({ client }: { client: Client }) {
  const [typed, setTyped] = useState('');
  const [token, setToken] = useState<string>();
  return (
    <>
      <form class="search" onSubmit={submitted(() => setToken(typed.trim() || undefined))}>
        <label class="field">
          METRICS_TOKEN of the operator
          <input
            type="password"
            autocomplete="off"
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <button type="submit">Show the metrics</button>
      </form>
      {token !== undefined && <Families client={client} token={token} />}
    </>
  );
}

function Families({ client, token }: { client: Client; token: string }) {
  const loaded = useLoad(
    async (signal) => readExposition(await client.metrics(token, signal)),
    [client, token],
  );
  return (
    <Of loaded={loaded} what="The metrics">
      {(families) => (
        <Table label="Metrics" class="table metrics stacked" columns={['metric', 'value', 'of']}>
          {families.flatMap(({ name, help, samples }) =>
            samples.map(({ labels, value }) => (
              <tr key={`${name} ${labels}`}>
                <th scope="row" title={help}>
                  {name}
                </th>
                <td class="number">{Number.isFinite(Number(value)) ? count(Number(value)) : value}</td>
                <td class="note">{labels}</td>
              </tr>
            )),
          )}
        </Table>
      )}
    </Of>
  );
}
