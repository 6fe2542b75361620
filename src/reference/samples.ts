/** Examples of a route. `$HOST` is the deployment's address, `$KEY` the caller's key. */
import type { Operation, Sample } from './operation.ts';

const TOKENS: Readonly<Record<Operation['access'], string | undefined>> = {
  caller: '$KEY',
  metrics: '$METRICS_TOKEN',
  admin: '$ADMIN_TOKEN',
  none: undefined,
};

/** The example with curl, and the examples of the entry. */
export function samplesOf(operation: Operation): Sample[] {
  return [{ lang: 'Shell', label: 'curl', source: curlOf(operation) }, ...(operation.samples ?? [])];
}

function curlOf({ method, path, parameters = [], access, speaks, body }: Operation): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    String(parameters.find((one) => one.in === 'path' && one.name === name)?.example ?? name),
  );
  const token = TOKENS[access];
  const usual = body ? 'post' : 'get';
  const lines = [
    `curl ${method === usual ? '' : `-X ${method.toUpperCase()} `}"$HOST${filled}"`,
    ...(token === undefined || speaks ? [] : [`-H "Authorization: Bearer ${token}"`]),
    ...(speaks ? [`-H "x-api-key: ${token}"`, "-H 'anthropic-version: 2023-06-01'"] : []),
    ...(body ? ["-H 'Content-Type: application/json'"] : []),
    ...(path === '/v1/mcp' ? ["-H 'Accept: application/json, text/event-stream'"] : []),
    ...(body ? [`-d '${JSON.stringify(body.example)}'`] : []),
  ];
  return lines.join(' \\\n  ');
}
