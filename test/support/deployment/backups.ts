/** `precis backup` and `precis restore`, as an operator runs them. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../../tools/worker-server.ts';
import type { Deployment } from './deployment.ts';

export const ADMIN_TOKEN = 'the-token-of-the-operator';

export interface Ran {
  readonly code: number;
  readonly said: string;
}

/** Runs a command of `bin/precis.js` against a deployment. */
export function precis(
  { url }: Pick<Deployment, 'url'>,
  args: readonly string[],
  vars: Record<string, string> = {},
): Promise<Ran> {
  const env = { PATH: process.env.PATH, PRECIS_URL: url, PRECIS_ADMIN_TOKEN: ADMIN_TOKEN, ...vars };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'bin/precis.js'), ...args], { env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), said: out + err }),
    );
  });
}
