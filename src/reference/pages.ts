/**
 * The pages of `docs/`, which the Worker has beside its code and loads one by one. The bundler
 * needs the path of each. README.md, `docs/llms.txt` and the pages as HTML list them in this order.
 */

/** What a reader wants of a page. */
export const GROUPS = ['Use it', 'Run it', 'Reference', 'How it works'] as const;

/** A text of `docs/`, not loaded yet. */
export interface Text {
  load(): Promise<{ readonly default: string }>;
}

export interface Page extends Text {
  /** Its first heading. */
  readonly title: string;
  readonly group: (typeof GROUPS)[number];
  /** What the page has, for lists. */
  readonly about: string;
}

/** By the name of the file, in the order in which a reader may need them. */
export const PAGES: ReadonlyMap<string, Page> = new Map<string, Page>([
  [
    'getting-started.md',
    {
      title: 'Getting started',
      group: 'Use it',
      about: 'from the first start to the first placeholder',
      load: () => import('../../docs/getting-started.md'),
    },
  ],
  [
    'concepts.md',
    {
      title: 'Concepts in five minutes',
      group: 'Use it',
      about: 'array, view, frontier and cache, in one picture',
      load: () => import('../../docs/concepts.md'),
    },
  ],
  [
    'clients.md',
    {
      title: 'Clients',
      group: 'Use it',
      about: 'OpenAI, Anthropic, Claude Code, AI SDK, Agents SDK, LangChain, Codex, OpenCode and more',
      load: () => import('../../docs/clients.md'),
    },
  ],
  [
    'modes.md',
    {
      title: 'Modes',
      group: 'Use it',
      about: 'which one to choose, and what each does',
      load: () => import('../../docs/modes.md'),
    },
  ],
  [
    'coming-from.md',
    {
      title: 'Coming from another memory',
      group: 'Use it',
      about: 'names of other libraries, and what they are called here',
      load: () => import('../../docs/coming-from.md'),
    },
  ],
  [
    'refs-and-retrieval.md',
    {
      title: 'Refs and retrieval',
      group: 'Use it',
      about: 'how callers, models or MCP clients fetch what was removed',
      load: () => import('../../docs/refs-and-retrieval.md'),
    },
  ],
  [
    'conversations.md',
    {
      title: 'Conversations',
      group: 'Use it',
      about: 'settings, the archive, memory across conversations',
      load: () => import('../../docs/conversations.md'),
    },
  ],
  [
    'memory-blocks.md',
    {
      title: 'Memory blocks',
      group: 'Use it',
      about: 'texts that agents share, and that a model may write',
      load: () => import('../../docs/memory-blocks.md'),
    },
  ],
  [
    'money.md',
    {
      title: 'Money',
      group: 'Use it',
      about: 'what a request has cost, and what it would have',
      load: () => import('../../docs/money.md'),
    },
  ],
  [
    'inspector.md',
    {
      title: 'The inspector',
      group: 'Use it',
      about: 'a page that shows what the model saw, and why',
      load: () => import('../../docs/inspector.md'),
    },
  ],
  [
    'troubleshooting.md',
    {
      title: 'Troubleshooting',
      group: 'Use it',
      about: 'nothing is shortened, it waits, n/a, 401, 502',
      load: () => import('../../docs/troubleshooting.md'),
    },
  ],
  [
    'deploying.md',
    {
      title: 'Deploying',
      group: 'Run it',
      about: 'variables, access keys, routes',
      load: () => import('../../docs/deploying.md'),
    },
  ],
  [
    'local-models.md',
    {
      title: 'Local models',
      group: 'Run it',
      about: 'Ollama, vLLM, llama.cpp',
      load: () => import('../../docs/local-models.md'),
    },
  ],
  [
    'operating.md',
    {
      title: 'Operating',
      group: 'Run it',
      about: 'cost, callers, upgrades, backup, alerts, retention',
      load: () => import('../../docs/operating.md'),
    },
  ],
  [
    'privacy.md',
    {
      title: 'Privacy',
      group: 'Run it',
      about: 'what is seen, stored and deleted',
      load: () => import('../../docs/privacy.md'),
    },
  ],
  [
    'strategy-reference.md',
    {
      title: 'Strategy reference',
      group: 'Reference',
      about: 'every field, with default and range',
      load: () => import('../../docs/strategy-reference.md'),
    },
  ],
  [
    'answers-and-errors.md',
    {
      title: 'Answers and errors',
      group: 'Reference',
      about: 'every header, warning and error code',
      load: () => import('../../docs/answers-and-errors.md'),
    },
  ],
  [
    'responses-api.md',
    {
      title: 'The Responses API',
      group: 'Reference',
      about: 'items, streams, compactions',
      load: () => import('../../docs/responses-api.md'),
    },
  ],
  [
    'bridges.md',
    {
      title: 'Bridges',
      group: 'Reference',
      about: 'chat clients of models that need another API',
      load: () => import('../../docs/bridges.md'),
    },
  ],
  [
    'messages-api.md',
    {
      title: 'The Messages API',
      group: 'Reference',
      about: "Anthropic's API, and Claude Code",
      load: () => import('../../docs/messages-api.md'),
    },
  ],
  [
    'vendors.md',
    {
      title: 'Vendors',
      group: 'Reference',
      about: 'what each refuses, caches, costs and retires',
      load: () => import('../../docs/vendors.md'),
    },
  ],
  [
    'measurements.md',
    {
      title: 'Measurements',
      group: 'How it works',
      about: 'costs, latency, and what stays visible',
      load: () => import('../../docs/measurements.md'),
    },
  ],
  [
    'benchmark.md',
    {
      title: 'The benchmark',
      group: 'How it works',
      about: 'what its figures mean, and how to add your policy',
      load: () => import('../../docs/benchmark.md'),
    },
  ],
  [
    'design.md',
    {
      title: 'Precis: the design',
      group: 'How it works',
      about: 'the contract, with its word list',
      load: () => import('../../docs/design.md'),
    },
  ],
  [
    'origins.md',
    {
      title: 'Where each feature lives',
      group: 'How it works',
      about: 'each feature with its page, its code and its test',
      load: () => import('../../docs/origins.md'),
    },
  ],
]);

/** `/llms.txt` (https://llmstxt.org). */
export const LLMS_TEXT: Text = { load: () => import('../../docs/llms.txt') };
