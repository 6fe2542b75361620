/** The app's router: Hono's, which remembers the handlers of the paths that most requests have. */
import type { Result, Router } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';

/**
 * A request to a model passes the trie's every branch below `/v1`, since a wildcard and several
 * methods match it too, and that takes longer than reading its headers.
 */
export class RouteRouter<Handler> implements Router<Handler> {
  readonly name = 'RouteRouter';
  private readonly trie = new TrieRouter<Handler>();
  private readonly paths: ReadonlySet<string>;
  private readonly known = new Map<string, Result<Handler>>();

  /** @param paths those without parameters, so that all requests of a method have one result */
  constructor(paths: readonly string[]) {
    this.paths = new Set(paths);
  }

  add(method: string, path: string, handler: Handler): void {
    this.trie.add(method, path, handler);
    this.known.clear();
  }

  match(method: string, path: string): Result<Handler> {
    if (!this.paths.has(path)) return this.trie.match(method, path);
    const name = `${method} ${path}`;
    const known = this.known.get(name) ?? this.trie.match(method, path);
    this.known.set(name, known);
    return known;
  }
}
