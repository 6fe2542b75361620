/**
 * Maps a path to a route. Base URLs may have a prefix and lack `/v1`, so known routes are matched
 * at the end of the path, and anything before them is dropped (docs/deploying.md#routes).
 */

/** The path of a route, and how it is matched. */
export interface RoutePath {
  /** As in Hono: segments with a colon are parameters. Below `/v1`, or a page of the site. */
  readonly path: string;
  /** Whether no other API has paths that end like this, so that it matches anywhere. */
  readonly isUnmistakable?: true;
  /**
   * Whether it is about all data of a caller. One such route deletes everything, and a forgotten id
   * must not lead there (`/conversations//memory`), nor the version of another API (`/v2/memory`).
   * So it matches after no prefix that has a route's name or a version in it.
   */
  readonly isOfAll?: true;
  /**
   * Whether SDKs append it to a base URL, which may already end in the version or in a slash:
   * `/v1/v1/messages`, `/v1//responses`.
   */
  readonly isAppended?: true;
}

/** What a path means. */
interface Matched {
  /** The path as the app's routes are written. */
  readonly path: string;
  /** The agent in the base URL. */
  readonly agent?: string;
}

const VERSION = '/v1';

/** A segment that names a version of an API. */
const ANY_VERSION = /^v\d/i;

/** Documents about the site. Their paths may end in the name of a route (RFC 8615, RFC 9728). */
const ABOUT_THE_SITE = '/.well-known/';

/** An agent before the version, or before a route without one. */
const AGENT = /^(?:(?!\/v1\/).)*?\/agents\/([^/]*)(\/.*)$/;

/**
 * An agent after the version. `/v1/agents/…` may also be the upstream's, so this holds for Precis's
 * routes and for agents of the deployment.
 */
const AGENT_AFTER_VERSION = /^(?:(?!\/v1\/).)*\/v1\/agents\/([^/]*)(\/.*)$/;

/** The base URL of an agent, which clients ask whether somebody is there. */
const AGENT_ALONE = /^(?:(?!\/v1\/).)*?\/agents\/([^/]+)$/;

/** An agent anywhere before a route. */
const AGENT_ANYWHERE = /\/agents\/([^/]*)(\/.*)$/;

/**
 * Finds the canonical route of a URL's path.
 *
 * @param routes all of them
 * @param agents the keys of the deployment's agents
 */
export function createRouter(
  routes: readonly RoutePath[],
  agents: ReadonlySet<string>,
): (pathname: string) => Matched {
  const matcher = new Matcher(routes);
  return (pathname) => {
    const before = AGENT.exec(pathname);
    if (before) return ofAgent(before, (rest) => matcher.canonical(rest));
    const [, alone] = AGENT_ALONE.exec(pathname) ?? [];
    if (alone !== undefined && agents.has(decode(alone))) return { path: '/', agent: decode(alone) };
    const after = AGENT_AFTER_VERSION.exec(pathname);
    if (after && isOurs(after, matcher, agents))
      return ofAgent(after, (rest) => matcher.canonical(withVersion(rest)));
    const path = matcher.canonical(pathname);
    const anywhere = matcher.isUnmistakable(pathname) ? AGENT_ANYWHERE.exec(pathname) : null;
    return anywhere && matcher.isUnmistakable(anywhere[2] ?? '') ? ofAgent(anywhere, () => path) : { path };
  };
}

function ofAgent([, key = '', rest = '']: RegExpExecArray, pathOf: (rest: string) => string): Matched {
  return { path: pathOf(rest), agent: decode(key) };
}

/** Whether a path with an agent after the version is not the upstream's. */
function isOurs(
  [, key = '', rest = '']: RegExpExecArray,
  matcher: Matcher,
  agents: ReadonlySet<string>,
): boolean {
  return rest.startsWith(`${VERSION}/`) || agents.has(decode(key)) || matcher.isKnown(withVersion(rest));
}

function withVersion(path: string): string {
  return path.startsWith(`${VERSION}/`) ? path : VERSION + path;
}

/** The patterns of all routes. */
class Matcher {
  private readonly unmistakable: RegExp;
  /** Directly after the version: `/v1/files/refs` is a file. */
  private readonly versioned: RegExp;
  /** The same after a version that is there twice, or with another slash. */
  private readonly appended: RegExp;
  /** At the end of a path without a version: a route below it, or a page of the site. */
  private readonly unversioned: RegExp;
  private readonly ofAll: RegExp;
  /** The names with which paths of routes begin. */
  private readonly names: ReadonlySet<string>;

  constructor(routes: readonly RoutePath[]) {
    // The front page has no name that could follow a prefix.
    const named = routes.filter(({ path }) => path !== '/');
    const below = named.filter(isVersioned);
    const pages = named.filter((route) => !isVersioned(route));
    const ofAll = below.filter(({ isOfAll }) => isOfAll);
    const others = below.filter(({ isOfAll }) => !isOfAll);
    this.unmistakable = new RegExp(`${groupOf(below.filter(({ isUnmistakable }) => isUnmistakable))}/?$`);
    this.versioned = new RegExp(`^${VERSION}${groupOf(below)}/?$`);
    this.appended = new RegExp(
      `^(?:${VERSION}/*)+${groupOf(below.filter(({ isAppended }) => isAppended))}/?$`,
    );
    this.unversioned = new RegExp(`${groupOf(others)}/?$|${groupOf(pages)}$`);
    this.ofAll = new RegExp(`${groupOf(ofAll)}/?$`);
    this.names = new Set(named.map((route) => withoutVersion(route).split('/')[1] ?? ''));
  }

  isUnmistakable(pathname: string): boolean {
    return this.unmistakable.test(pathname);
  }

  /** Whether a path with a version is one of a route. */
  isKnown(pathname: string): boolean {
    return this.isUnmistakable(pathname) || this.afterVersion(pathname) !== null;
  }

  canonical(pathname: string): string {
    if (pathname.startsWith(ABOUT_THE_SITE)) return pathname;
    const [, sure] = this.unmistakable.exec(pathname) ?? [];
    if (sure !== undefined) return VERSION + sure;
    const version = pathname.indexOf(`${VERSION}/`);
    const path = version < 0 ? pathname : pathname.slice(version);
    const [, route, page] =
      (version < 0 ? (this.unversioned.exec(path) ?? this.ofAllIn(path)) : this.afterVersion(path)) ?? [];
    return route === undefined ? (page ?? path) : VERSION + route;
  }

  private afterVersion(pathname: string): RegExpExecArray | null {
    return this.versioned.exec(pathname) ?? this.appended.exec(pathname);
  }

  private ofAllIn(pathname: string): RegExpExecArray | null {
    const found = this.ofAll.exec(pathname);
    const prefix = pathname.slice(0, found?.index ?? 0).split('/');
    return prefix.some((name) => this.names.has(name) || ANY_VERSION.test(name)) ? null : found;
  }
}

function isVersioned({ path }: RoutePath): boolean {
  return path.startsWith(`${VERSION}/`);
}

function withoutVersion({ path }: RoutePath): string {
  return isVersioned({ path }) ? path.slice(VERSION.length) : path;
}

/** A group of a regular expression that matches the paths of routes. */
function groupOf(routes: readonly RoutePath[]): string {
  const sources = routes.map((route) =>
    withoutVersion(route).replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+'),
  );
  return `(${sources.join('|')})`;
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
