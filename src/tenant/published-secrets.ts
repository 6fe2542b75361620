/**
 * Secrets published in this repository. With one, anyone could forge a deployment's refs, names and
 * sealed items.
 */
import { ConfigError } from '../config-error.ts';
import { isLocalHost } from '../lib/request-url.ts';

/** Secrets of `npm start` before 0.10, the demo, the benchmarks and the tests. */
const PUBLISHED = new Set([
  'development-only-secret-do-not-deploy',
  'secret-of-the-demo-do-not-deploy',
  'the secret of the benchmarks',
  'secret-of-the-end-to-end-tests',
  'a-secret-for-tests-only',
]);

interface Secrets {
  readonly secret: string;
  readonly previousSecret: string | undefined;
}

/**
 * Refuses a published secret outside of development. The request's host decides, since a variable
 * could be set by mistake or forgotten. A deployment with such a secret answers no request.
 *
 * @param hostname of the request's URL
 * @throws ConfigError
 */
export function checkSecrets({ secret, previousSecret }: Secrets, hostname: string): void {
  const isPublished = (one: string) => PUBLISHED.has(one.trim());
  if (isLocalHost(hostname) || !(isPublished(secret) || isPublished(previousSecret ?? ''))) return;
  throw new ConfigError(
    'PRECIS_SECRET, or PRECIS_SECRET_PREVIOUS, is a published one, for development on this machine alone. Set your own (wrangler secret put PRECIS_SECRET).',
  );
}
