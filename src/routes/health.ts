/** `GET /healthz`: whether the deployment can answer requests. */
import type { Env } from '../config.ts';
import { ConfigError } from '../config-error.ts';
import { urlOf } from '../lib/request-url.ts';
import { createObjectLog, errorFields } from '../log.ts';
import { servicesOf } from '../request/services.ts';
import { checkSecrets } from '../tenant/published-secrets.ts';
import type { RouteContext } from './context.ts';

/**
 * Fails where the configuration is invalid: then every request fails. Anybody may ask, so the
 * answer doesn't name the variable; the log does, and the error of a request.
 */
export function getHealth(c: RouteContext): Response {
  return isHealthy(c.env, urlOf(c.req.raw).hostname)
    ? c.json({ status: 'ok' })
    : c.json({ status: 'misconfigured' }, 503);
}

/** Whether the configuration is valid. If not, the log says why. @param hostname as it was asked */
export function isHealthy(env: Env, hostname: string): boolean {
  try {
    checkSecrets(servicesOf(env).config, hostname);
    return true;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    logMisconfigured(error, env);
    return false;
  }
}

/** Logs an invalid configuration, for a request or a probe that fails for it. */
export function logMisconfigured(error: ConfigError, env: Env): void {
  createObjectLog(env)('error', error.message, { code: 'misconfigured', ...errorFields(error) });
}
