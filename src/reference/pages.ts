/**
 * The pages of `docs/`, which the Worker has beside its code and loads one by one. README.md,
 * `docs/llms.txt` and the pages as HTML list them in the order of `WORDS`.
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

/** The files. The bundler needs the path of each. */
const FILES = {
  'getting-started.md': () => import('../../docs/getting-started.md'),
  'concepts.md': () => import('../../docs/concepts.md'),
  'worth-it.md': () => import('../../docs/worth-it.md'),
  'clients.md': () => import('../../docs/clients.md'),
  'modes.md': () => import('../../docs/modes.md'),
  'prompt-caching.md': () => import('../../docs/prompt-caching.md'),
  'coming-from.md': () => import('../../docs/coming-from.md'),
  'compared-with.md': () => import('../../docs/compared-with.md'),
  'refs-and-retrieval.md': () => import('../../docs/refs-and-retrieval.md'),
  'conversations.md': () => import('../../docs/conversations.md'),
  'memory-blocks.md': () => import('../../docs/memory-blocks.md'),
  'money.md': () => import('../../docs/money.md'),
  'inspector.md': () => import('../../docs/inspector.md'),
  'troubleshooting.md': () => import('../../docs/troubleshooting.md'),
  'production.md': () => import('../../docs/production.md'),
  'deploying.md': () => import('../../docs/deploying.md'),
  'local-models.md': () => import('../../docs/local-models.md'),
  'operating.md': () => import('../../docs/operating.md'),
  'privacy.md': () => import('../../docs/privacy.md'),
  'strategy-reference.md': () => import('../../docs/strategy-reference.md'),
  'answers-and-errors.md': () => import('../../docs/answers-and-errors.md'),
  'responses-api.md': () => import('../../docs/responses-api.md'),
  'bridges.md': () => import('../../docs/bridges.md'),
  'messages-api.md': () => import('../../docs/messages-api.md'),
  'vendors.md': () => import('../../docs/vendors.md'),
  'measurements.md': () => import('../../docs/measurements.md'),
  'benchmark.md': () => import('../../docs/benchmark.md'),
  'design.md': () => import('../../docs/design.md'),
  'origins.md': () => import('../../docs/origins.md'),
} as const satisfies Readonly<Record<string, Text['load']>>;

/** Title and words of each, by group, in the order in which a reader may need them. */
const WORDS: Readonly<
  Record<Page['group'], Readonly<Partial<Record<keyof typeof FILES, readonly [string, string]>>>>
> = {
  'Use it': {
    'getting-started.md': ['Getting started', 'from the first start to the first placeholder'],
    'concepts.md': ['Concepts in five minutes', 'array, view, frontier and cache, in one picture'],
    'worth-it.md': ['Is it worth it for me?', 'what to expect by traffic, and how to measure your own'],
    'clients.md': [
      'Clients',
      'OpenAI, Anthropic, Claude Code, AI SDK, Agents SDK, LangChain, Codex, OpenCode and more',
    ],
    'modes.md': ['Modes', 'which one to choose, and what each does'],
    'prompt-caching.md': [
      'Anthropic prompt caching and Precis',
      'cache breakpoints: who sets them, what they cost',
    ],
    'coming-from.md': [
      'Coming from another memory',
      'names of other libraries, and what they are called here',
    ],
    'compared-with.md': ['Compared with', 'Headroom, Compresr, clear_tool_uses, native compaction'],
    'refs-and-retrieval.md': [
      'Refs and retrieval',
      'how callers, models or MCP clients fetch what was removed',
    ],
    'conversations.md': ['Conversations', 'settings, the archive, memory across conversations'],
    'memory-blocks.md': ['Memory blocks', 'texts that agents share, and that a model may write'],
    'money.md': ['Money', 'what a request has cost, and what it would have'],
    'inspector.md': ['The inspector', 'a page that shows what the model saw, and why'],
    'troubleshooting.md': ['Troubleshooting', 'nothing is shortened, it waits, n/a, 401, 502'],
  },
  'Run it': {
    'production.md': ['Going to production', 'ten steps'],
    'deploying.md': ['Deploying', 'variables, access keys, routes'],
    'local-models.md': ['Local models', 'Ollama, vLLM, llama.cpp'],
    'operating.md': ['Operating', 'cost, callers, limits, upgrades, backup, alerts, retention'],
    'privacy.md': ['Privacy', 'what is seen, stored and deleted'],
  },
  Reference: {
    'strategy-reference.md': ['Strategy reference', 'every field, with default and range'],
    'answers-and-errors.md': ['Answers and errors', 'every header, warning and error code'],
    'responses-api.md': ['The Responses API', 'items, streams, compactions'],
    'bridges.md': ['Bridges', 'chat clients of models that need another API'],
    'messages-api.md': ['The Messages API', "Anthropic's API, and Claude Code"],
    'vendors.md': ['Vendors', 'what each refuses, caches, costs and retires'],
  },
  'How it works': {
    'measurements.md': ['Measurements', 'costs, latency, and what stays visible'],
    'benchmark.md': ['The benchmark', 'what its figures mean, and how to add your policy'],
    'design.md': ['Precis: the design', 'the contract, with its word list'],
    'origins.md': ['Where each feature lives', 'each feature with its page, its code and its test'],
  },
};

/** By the name of the file. */
export const PAGES: ReadonlyMap<string, Page> = new Map(
  GROUPS.flatMap((group) =>
    Object.entries(WORDS[group]).map(([name, [title, about]]): [string, Page] => [
      name,
      { title, group, about, load: FILES[name as keyof typeof FILES] },
    ]),
  ),
);

/** `/llms.txt` (https://llmstxt.org). */
export const LLMS_TEXT: Text = { load: () => import('../../docs/llms.txt') };
