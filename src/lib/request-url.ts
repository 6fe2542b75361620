/** The URLs of requests, and their hosts. */
import { oncePer } from './once.ts';

/** A request's URL. It is parsed once, though several places ask for it. */
export const urlOf: (request: Request) => Readonly<URL> = oncePer(({ url }) => new URL(url));

/**
 * A query with some of its parameters, which keep their bytes.
 *
 * @param search with its `?`, or empty
 * @param isKept takes decoded names
 */
export function partOfSearch(search: string, isKept: (name: string) => boolean): string {
  if (search === '') return '';
  const parts = search.slice(1).split('&');
  const kept = parts.filter((part) => [...new URLSearchParams(part).keys()].every(isKept));
  return kept.join('') === '' ? '' : `?${kept.join('&')}`;
}

/** This machine, and names that public DNS never resolves (RFC 6761). */
const LOCAL_HOST = /^(?:localhost|(?:.+\.)?(?:localhost|test)|127(?:\.\d+){3}|\[::1\])$/;

/** Whether a URL's host name means this machine. */
export function isLocalHost(hostname: string): boolean {
  return LOCAL_HOST.test(hostname);
}

/**
 * Addresses of private networks (RFC 1918, 4193, 6598), of a link and of no host, and names that
 * only such a network or machine resolves: of one label, as containers have, the names of RFC 6762
 * and 8375, those that routers give, and Tailscale's.
 */
const PRIVATE_HOST =
  /^(?:0\.0\.0\.0|10(?:\.\d+){3}|(?:192\.168|169\.254)(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])(?:\.\d+){2}|\[f(?:[cd]|e80:)[\da-f:]+\]|[^.:]+|.+\.(?:local|internal|lan|home\.arpa|ts\.net))$/;

/** Whether a URL's host name means this machine or one in its own network. */
export function isPrivateHost(hostname: string): boolean {
  return isLocalHost(hostname) || PRIVATE_HOST.test(hostname);
}

/** The name in a host, in lower case and without the port; undefined if it is none. */
export function hostnameOf(host: string): string | undefined {
  return withoutDot(URL.parse(`http://${host}`)?.hostname);
}

/** The name in the URL of a server, likewise. @throws TypeError if it is no URL */
export function serverOf(url: string): string {
  return withoutDot(new URL(url).hostname);
}

/** A dot at the end of a name changes nothing (RFC 1034, section 3.1). */
function withoutDot<Name extends string | undefined>(hostname: Name): Name {
  return hostname?.replace(/\.$/, '') as Name;
}
