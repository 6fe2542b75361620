/**
 * The pages of `docs/`, which the Worker has beside its code and loads one by one. The bundler
 * needs the path of each; `docs/llms.txt` lists them for readers.
 */

/** A text of `docs/`, not loaded yet. */
export interface Page {
  load(): Promise<{ readonly default: string }>;
}

/** By the name of the file, in the order in which a reader may need them. */
export const PAGES: ReadonlyMap<string, Page> = new Map<string, Page>([
  ['getting-started.md', { load: () => import('../../docs/getting-started.md') }],
  ['clients.md', { load: () => import('../../docs/clients.md') }],
  ['modes.md', { load: () => import('../../docs/modes.md') }],
  ['coming-from.md', { load: () => import('../../docs/coming-from.md') }],
  ['refs-and-retrieval.md', { load: () => import('../../docs/refs-and-retrieval.md') }],
  ['conversations.md', { load: () => import('../../docs/conversations.md') }],
  ['memory-blocks.md', { load: () => import('../../docs/memory-blocks.md') }],
  ['money.md', { load: () => import('../../docs/money.md') }],
  ['inspector.md', { load: () => import('../../docs/inspector.md') }],
  ['troubleshooting.md', { load: () => import('../../docs/troubleshooting.md') }],
  ['deploying.md', { load: () => import('../../docs/deploying.md') }],
  ['local-models.md', { load: () => import('../../docs/local-models.md') }],
  ['operating.md', { load: () => import('../../docs/operating.md') }],
  ['strategy-reference.md', { load: () => import('../../docs/strategy-reference.md') }],
  ['answers-and-errors.md', { load: () => import('../../docs/answers-and-errors.md') }],
  ['responses-api.md', { load: () => import('../../docs/responses-api.md') }],
  ['bridges.md', { load: () => import('../../docs/bridges.md') }],
  ['messages-api.md', { load: () => import('../../docs/messages-api.md') }],
  ['vendors.md', { load: () => import('../../docs/vendors.md') }],
  ['measurements.md', { load: () => import('../../docs/measurements.md') }],
  ['benchmark.md', { load: () => import('../../docs/benchmark.md') }],
  ['design.md', { load: () => import('../../docs/design.md') }],
  ['origins.md', { load: () => import('../../docs/origins.md') }],
]);

/** `/llms.txt` (https://llmstxt.org). */
export const LLMS_TEXT: Page = { load: () => import('../../docs/llms.txt') };
