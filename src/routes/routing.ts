/**
 * Which route a path means. Base URLs come with prefixes and without `/v1`, so known routes are
 * matched by their end; what stands before is dropped (docs/design.md#5-routes).
 */

export interface Route {
  /** The path as the app's routes are written. */
  readonly path: string;
  /** The agent that the base URL names. */
  readonly agent?: string;
}

/** A route that no other API has at the end of its paths: matched wherever it stands. */
const UNMISTAKABLE = /\/(chat\/completions)\/?$/;

/**
 * Routes that are also matched without `/v1`. Behind one they stand right behind it:
 * `/v1/files/refs` is a file.
 */
const UNVERSIONED =
  /\/(responses(?:\/compact)?|compact|mcp|refs(?:\/[^/]+)?|conversations\/[^/]+\/(?:memory|messages)|embeddings|models(?:\/[^/]+)?)\/?$/;
const VERSIONED = new RegExp(`^/v1${UNVERSIONED.source}`);

/** What is deleted by it is everything, so no path that is about something else may mean it. */
const ALL_MEMORY = /^(?:\/v1)?\/memory\/?$/;

/**
 * Documents about the site: what stands at the end of their paths is a route that they are about
 * (RFC 8615, RFC 9728).
 */
const ABOUT_THE_SITE = '/.well-known/';

/**
 * An agent stands before the version, or before a route that is known without one; `/v1/agents/…`
 * is the upstream's.
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
  if (ALL_MEMORY.test(path)) return '/v1/memory';
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

/** How often a server may decode a path; one that is still encoded then has something to hide. */
const MOST_DECODINGS = 5;

/**
 * No name holds these. A server may end a path at a control, take `\\` for `/`, or know an escape
 * of its own (`%u002e`).
 */
const MISLEADING = /[\p{Cc}\\]|%u[\da-f]{4}/iu;

/**
 * Whether a path could mean another one to a server that decodes it: `.` or `..` between slashes,
 * with or without a parameter (`..;a=b`), bytes that are no UTF-8 (a dot may be written in two
 * bytes), characters that stand for these (a full-width dot), and whatever is misleading. Each run
 * of escapes is decoded by itself, since a server may be more lenient about the rest than
 * `decodeURIComponent`.
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

/** Undefined where the escapes are no UTF-8. */
function decodeEscapes(path: string): string | undefined {
  try {
    return path.replace(/(?:%[\da-f]{2})+/gi, decodeURIComponent);
  } catch {
    return undefined;
  }
}
