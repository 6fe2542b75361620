/**
 * Which route a path means. Base URLs come with prefixes and without `/v1`, so known routes are matched by their end; what
 * stands before is dropped (design §5).
 */

export interface Route {
  /** The path as the app's routes are written. */
  readonly path: string;
  /** The agent that the base URL names. */
  readonly agent?: string;
}

/** Routes that no other API has at the end of its paths: matched wherever they stand. */
const UNMISTAKABLE = /\/(chat\/completions|responses\/compact|responses)\/?$/;

/** Routes that are also matched without `/v1`; behind one, `/v1/files/refs` is a file. */
const UNVERSIONED = /\/(compact|refs(?:\/[^/]+)?|embeddings|models(?:\/[^/]+)?)\/?$/;

const AGENT = /\/agents\/([^/]+)(\/.*)$/;

/** The canonical route of a URL's path. */
export function routeOf(pathname: string): Route {
  const [, key, rest] = AGENT.exec(pathname) ?? [];
  if (key === undefined || rest === undefined) return { path: canonical(pathname) };
  return { path: canonical(rest), agent: decode(key) };
}

function canonical(pathname: string): string {
  const sure = UNMISTAKABLE.exec(pathname);
  if (sure) return `/v1/${sure[1]}`;
  const version = pathname.lastIndexOf('/v1/');
  if (version >= 0) return pathname.slice(version);
  const known = UNVERSIONED.exec(pathname);
  return known ? `/v1/${known[1]}` : pathname;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
