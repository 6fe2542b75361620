/**
 * Secrets that everybody can read here: with one of them anybody could forge refs, names and sealed
 * items of a deployment.
 */
import { ConfigError } from '../config-error.ts';

/** Of `npm start`, of the demo, of the benchmarks, of the tests. */
const PUBLISHED = new Set([
  'development-only-secret-do-not-deploy',
  'secret-of-the-demo-do-not-deploy',
  'the secret of the benchmarks',
  'secret-of-the-end-to-end-tests',
  'a-secret-for-tests-only',
]);

/** This machine, and names that no public DNS resolves (RFC 6761). */
const DEVELOPMENT_HOST = /^(?:localhost|(?:.+\.)?(?:localhost|test)|127(?:\.\d+){3}|\[::1\])$/;

/**
 * Checks that a published secret serves development alone. The host of the request tells it from a
 * deployment: there is no variable that could be set by mistake, or left behind, and a deployment
 * with such a secret answers nothing from its first request on.
 *
 * @param hostname of the request's URL
 * @throws ConfigError
 */
export function checkSecrets(secrets: readonly string[], hostname: string): void {
  if (DEVELOPMENT_HOST.test(hostname) || !secrets.some((secret) => PUBLISHED.has(secret.trim()))) return;
  throw new ConfigError(
    'PRECIS_SECRET, or PRECIS_SECRET_PREVIOUS, is one for development, which everybody knows: it is taken on this machine alone. Set one of your own (wrangler secret put PRECIS_SECRET).',
  );
}
