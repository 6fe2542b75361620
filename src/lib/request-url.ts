/** The URLs of requests, and their hosts. */

const parsed = new WeakMap<Request, URL>();

/** A request's URL. It is parsed once, though several places ask for it. */
export function urlOf(request: Request): Readonly<URL> {
  const known = parsed.get(request);
  if (known) return known;
  const url = new URL(request.url);
  parsed.set(request, url);
  return url;
}

/** This machine, and names that public DNS never resolves (RFC 6761). */
const LOCAL_HOST = /^(?:localhost|(?:.+\.)?(?:localhost|test)|127(?:\.\d+){3}|\[::1\])$/;

/** Whether a URL's host name stands for this machine. */
export function isLocalHost(hostname: string): boolean {
  return LOCAL_HOST.test(hostname);
}

/** The name in a host, in lower case and without the port; undefined if it is none. */
export function hostnameOf(host: string): string | undefined {
  return URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '');
}
