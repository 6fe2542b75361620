/**
 * What a deployment with `LOCAL_TENANT` answers. Its callers have no key, so a website that its
 * owner visits could call it: from the site itself, or under a name of the site's that leads to the
 * deployment (DNS rebinding).
 */
import { hostnameOf, isLocalHost } from '../../lib/request-url.ts';
import { ApiError } from '../errors.ts';

/** Relations of the calling page to this server (https://www.w3.org/TR/fetch-metadata/). */
const FOREIGN_SITES: ReadonlySet<string | null> = new Set(['cross-site', 'same-site']);

/**
 * Refuses a request to another host, and one of a page of another origin.
 *
 * @param hosts names beside this machine's own, in lower case, without ports
 * @throws ApiError `forbidden_origin`
 */
export function checkLocal(headers: Headers, url: URL, hosts: readonly string[]): void {
  // Proxies may put a name of their own into the URL.
  for (const host of new Set([url.host, headers.get('host') ?? url.host])) {
    const name = hostnameOf(host);
    if (name === undefined || !(isLocalHost(name) || hosts.includes(name)))
      throw new ApiError(
        'forbidden_origin',
        `This deployment has LOCAL_TENANT, so it answers only under names of this machine, such as localhost. If ${JSON.stringify(host)} is its own name, add it to LOCAL_HOSTS.`,
        'host',
      );
  }
  const origin = headers.get('origin');
  if (origin !== null && !isOf(origin, headers.get('host') ?? url.host)) throw foreign('origin');
  if (FOREIGN_SITES.has(headers.get('sec-fetch-site'))) throw foreign('sec-fetch-site');
}

function foreign(header: string): ApiError {
  return new ApiError(
    'forbidden_origin',
    'This deployment has LOCAL_TENANT, so it answers no page of another origin: call it from a program, or from a page that it serves itself.',
    header,
  );
}

/** Whether an origin has this host and port. `null` is the origin of sandboxed pages. */
function isOf(origin: string, host: string): boolean {
  const own = URL.parse(origin);
  return own !== null && own.host === URL.parse(`${own.protocol}//${host}`)?.host;
}
