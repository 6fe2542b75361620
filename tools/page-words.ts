/** What each page of `docs/` has, for the lists of README.md and `docs/llms.txt`. */

/** By the name of the file. `src/reference/pages.ts` has the same pages in the same order. */
export const ABOUT: Readonly<Record<string, string>> = {
  'getting-started.md': 'from the first start to the first placeholder',
  'clients.md': 'OpenAI, Anthropic, Claude Code, AI SDK, Agents SDK, LangChain, Codex, OpenCode and more',
  'modes.md': 'which one to choose, and what each does',
  'coming-from.md': 'names of other libraries, and what they are called here',
  'refs-and-retrieval.md': 'how callers, models or MCP clients fetch what was removed',
  'conversations.md': 'settings, the archive, memory across conversations',
  'memory-blocks.md': 'texts that agents share, and that a model may write',
  'money.md': 'what a request has cost, and what it would have',
  'inspector.md': 'a page that shows what the model saw, and why',
  'troubleshooting.md': 'nothing is shortened, it waits, n/a, 401, 502',
  'deploying.md': 'variables, access keys, routes',
  'local-models.md': 'Ollama, vLLM, llama.cpp',
  'operating.md': 'cost, callers, upgrades, backup, alerts, retention',
  'strategy-reference.md': 'every field, with default and range',
  'answers-and-errors.md': 'every header, warning and error code',
  'responses-api.md': 'items, streams, compactions',
  'bridges.md': 'chat clients of models that need another API',
  'messages-api.md': "Anthropic's API, and Claude Code",
  'vendors.md': 'what each refuses, caches, costs and retires',
  'measurements.md': 'costs, latency, and what stays visible',
  'benchmark.md': 'what its figures mean, and how to add your policy',
  'design.md': 'the contract, with its word list',
  'origins.md': 'each feature with its page, its code and its test',
};

/** What a reader wants of the pages. A page that is in no other group is for use. */
export const GROUPS = ['Use it', 'Run it', 'Reference', 'How it works'] as const;

type Group = (typeof GROUPS)[number];

const PAGES_OF: Readonly<Record<Exclude<Group, 'Use it'>, readonly string[]>> = {
  'Run it': ['deploying.md', 'local-models.md', 'operating.md'],
  Reference: [
    'strategy-reference.md',
    'answers-and-errors.md',
    'responses-api.md',
    'bridges.md',
    'messages-api.md',
    'vendors.md',
  ],
  'How it works': ['measurements.md', 'benchmark.md', 'design.md', 'origins.md'],
};

/** The group of a page. */
export function groupOf(name: string): Group {
  const others = Object.entries(PAGES_OF) as [Group, readonly string[]][];
  return others.find(([, names]) => names.includes(name))?.[0] ?? 'Use it';
}
