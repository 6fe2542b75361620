/** `ADMIN_TOKEN` and `METRICS_TOKEN`: what opens the operator's routes, and nothing else. */
import type { Access } from './access-keys.ts';
import { ConfigError } from './config-error.ts';

/**
 * At least 20 characters, as for access keys: anyone can guess at it over the network. A header
 * can't hold a token with white space.
 */
export const OPERATOR_TOKEN = /^\S{20,}$/;
export const OPERATOR_TOKEN_PHRASE = 'a string of at least 20 characters without white space';

const TOKENS = ['ADMIN_TOKEN', 'METRICS_TOKEN'] as const;

/** Secrets that open more than an operator's token, or go elsewhere. */
const OTHER_SECRETS = [
  'PRECIS_SECRET',
  'PRECIS_SECRET_PREVIOUS',
  'UPSTREAM_API_KEY',
  'ANTHROPIC_API_KEY',
  'SUMMARIZER_API_KEY',
  'EMBEDDINGS_API_KEY',
  'WEBHOOK_SECRET',
] as const;

type Secrets = { readonly [Name in (typeof TOKENS | typeof OTHER_SECRETS)[number]]?: string | undefined };

/**
 * Refuses a token that is also another secret of the deployment: it would open, or be sent to, what
 * it is not meant for.
 *
 * @throws ConfigError without a value
 */
export function checkOperatorTokens(secrets: Secrets, access: Access | undefined): void {
  const { ADMIN_TOKEN: admin, METRICS_TOKEN: metrics } = secrets;
  if (admin !== undefined && admin === metrics)
    throw new ConfigError('ADMIN_TOKEN and METRICS_TOKEN are the same; each needs a value of its own.');
  for (const name of TOKENS) {
    const token = secrets[name];
    if (token === undefined) continue;
    const same = OTHER_SECRETS.find((other) => secrets[other] === token);
    if (same) throw new ConfigError(`${name} is the same as ${same}; it needs a value of its own.`);
    const entry = access?.keys.findIndex(({ key }) => key === token) ?? -1;
    if (entry >= 0)
      throw new ConfigError(
        `${name} is the same as the key of entry ${entry + 1} of ACCESS_KEYS; it needs a value of its own.`,
      );
  }
}
