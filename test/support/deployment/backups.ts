/** Commands as an operator runs them: `precis backup`, `precis restore`, and others. */
import { type ExecFileOptions, execFile } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../../tools/worker-server.ts';
import type { Deployment } from './deployment.ts';

export const ADMIN_TOKEN = 'the-token-of-the-operator';

export interface Ran {
  readonly code: number;
  /** On both outputs. */
  readonly said: string;
}

/** Runs a program without input. */
export function run(program: string, args: readonly string[], options: ExecFileOptions): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { ...options, encoding: 'utf8' }, (error, out, err) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, said: `${out}${err}` }),
    );
    child.stdin?.end();
  });
}

/** Runs a command of `bin/precis.js` against a deployment. */
export function precis({ url }: Pick<Deployment, 'url'>, args: readonly string[]): Promise<Ran> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, PRECIS_URL: url, PRECIS_ADMIN_TOKEN: ADMIN_TOKEN };
  return run(process.execPath, [join(ROOT, 'bin/precis.js'), ...args], { env });
}
