/**
 * Maps a path to a route. Base URLs may have a prefix and lack `/v1`, so known routes are matched
 * at the end of the path, and anything before them is dropped (docs/design.md#5-routes).
 */

interface Route {
  /** The path as the app's routes are written. */
  readonly path: string;
  /** The agent in the base URL. */
  readonly agent?: string;
}

/** No other API has paths that end like this, so it matches anywhere. */
const UNMISTAKABLE = /\/(chat\/completions)\/?$/;

/**
 * Routes that also match without `/v1`. After `/v1` they match only directly: `/v1/files/refs` is a
 * file.
 */
const UNVERSIONED =
  /\/(responses(?:\/(?:compact|input_tokens))?|compact|explain|mcp|refs(?:\/[^/]+)?|blocks(?:\/[^/]+)?|conversations\/[^/]+\/(?:memory(?:\/flush)?|messages|requests(?:\/[^/]+(?:\/view)?)?|end)|users\/[^/]+\/memory(?:\/[^/]+)?|embeddings|models(?:\/[^/]+)?)\/?$/;
const VERSIONED = new RegExp(`^/v1${UNVERSIONED.source}`);

/** Routes about all data of a caller match only the exact path, since one deletes everything. */
const OF_ALL = /^(?:\/v1)?\/(memory|conversations|stats)\/?$/;

/** Documents about the site. Their paths may end in the name of a route (RFC 8615, RFC 9728). */
const ABOUT_THE_SITE = '/.well-known/';

/**
 * An agent comes before the version, or before a route without one. `/v1/agents/…` is the
 * upstream's.
 */
const AGENT = /^(?:(?!\/v1\/).)*?\/agents\/([^/]+)(\/.*)$/;

/** The canonical route of a URL's path. */
export function routeOf(pathname: string): Route {
  const [, key, rest] = AGENT.exec(pathname) ?? [];
  if (key === undefined || rest === undefined) return { path: canonical(pathname) };
  return { path: canonical(rest), agent: decode(key) };
}

function canonical(pathname: string): string {
  if (pathname.startsWith(ABOUT_THE_SITE)) return pathname;
  const sure = UNMISTAKABLE.exec(pathname);
  if (sure) return `/v1/${sure[1]}`;
  const version = pathname.indexOf('/v1/');
  const path = version < 0 ? pathname : pathname.slice(version);
  const ofAll = OF_ALL.exec(path);
  if (ofAll) return `/v1/${ofAll[1]}`;
  const known = (version < 0 ? UNVERSIONED : VERSIONED).exec(path);
  return known ? `/v1/${known[1]}` : path;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** How often a server may decode a path. One that is still encoded after that is refused. */
const MOST_DECODINGS = 5;

/**
 * No name contains these. A server may end a path at a control character, take `\\` for `/`, or
 * know its own escapes (`%u002e`).
 */
const MISLEADING = /[\p{Cc}\\]|%u[\da-f]{4}/iu;

/**
 * Whether a path could mean another one to a server that decodes it: `.` or `..` between slashes,
 * also with a parameter (`..;a=b`), in invalid UTF-8 (a dot in two bytes), in look-alike characters
 * (a full-width dot), or with misleading characters. Each run of escapes is decoded by itself,
 * since a server may be more lenient about the rest than `decodeURIComponent`.
 */
export function climbs(pathname: string): boolean {
  let path = pathname;
  for (let round = 0; round <= MOST_DECODINGS; round++) {
    const plain = path.normalize('NFKC');
    if (MISLEADING.test(plain) || plain.split('/').some(isRelative)) return true;
    const decoded = decodeEscapes(path);
    if (decoded === path) return false;
    if (decoded === undefined) return true;
    path = decoded;
  }
  return true;
}

function isRelative(segment: string): boolean {
  const name = segment.split(';')[0]?.trim();
  return name === '.' || name === '..';
}

/** Undefined if the escapes are not UTF-8. */
function decodeEscapes(path: string): string | undefined {
  try {
    return path.replace(/(?:%[\da-f]{2})+/gi, decodeURIComponent);
  } catch {
    return undefined;
  }
}
