/** The URLs of requests. */

const parsed = new WeakMap<Request, URL>();

/** A request's URL. It is parsed once, though several places ask for it. */
export function urlOf(request: Request): Readonly<URL> {
  const known = parsed.get(request);
  if (known) return known;
  const url = new URL(request.url);
  parsed.set(request, url);
  return url;
}
