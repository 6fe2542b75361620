/** The pages of the documentation, which the Worker has beside its code and loads one by one. */

interface Page {
  readonly title: string;
  readonly note: string;
  /** Whether a reader with little room may leave it out. */
  readonly isOptional?: true;
  load(): Promise<{ readonly default: string }>;
}

/** By the name of the file. */
export const PAGES: ReadonlyMap<string, Page> = new Map<string, Page>([
  [
    'getting-started.md',
    {
      title: 'Getting started',
      note: 'from the first start to the first placeholder',
      load: () => import('../../docs/getting-started.md'),
    },
  ],
  [
    'modes.md',
    {
      title: 'Modes',
      note: 'which one to choose, and what each does',
      load: () => import('../../docs/modes.md'),
    },
  ],
  [
    'strategy-reference.md',
    {
      title: 'Strategy reference',
      note: 'every field, with default and range',
      load: () => import('../../docs/strategy-reference.md'),
    },
  ],
  [
    'money.md',
    {
      title: 'Money',
      note: 'what a request has cost, and what it would have',
      load: () => import('../../docs/money.md'),
    },
  ],
  [
    'responses-api.md',
    {
      title: 'The Responses API',
      note: 'items, streams, compactions',
      load: () => import('../../docs/responses-api.md'),
    },
  ],
  [
    'conversations.md',
    {
      title: 'Conversations',
      note: 'settings, the archive, memory across conversations',
      load: () => import('../../docs/conversations.md'),
    },
  ],
  [
    'memory-blocks.md',
    {
      title: 'Memory blocks',
      note: 'texts that agents share, and that a model may write',
      load: () => import('../../docs/memory-blocks.md'),
    },
  ],
  [
    'refs-and-retrieval.md',
    {
      title: 'Refs and retrieval',
      note: 'how callers, models and MCP clients fetch removed content',
      load: () => import('../../docs/refs-and-retrieval.md'),
    },
  ],
  [
    'answers-and-errors.md',
    {
      title: 'Answers and errors',
      note: 'every header, warning and error code',
      load: () => import('../../docs/answers-and-errors.md'),
    },
  ],
  [
    'inspector.md',
    {
      title: 'The inspector',
      note: 'a page that shows what the model saw',
      load: () => import('../../docs/inspector.md'),
    },
  ],
  [
    'deploying.md',
    {
      title: 'Deploying',
      note: 'variables, access keys, retention, limits',
      load: () => import('../../docs/deploying.md'),
    },
  ],
  [
    'measurements.md',
    {
      title: 'Measurements',
      note: 'costs, latency, and what stays visible',
      isOptional: true,
      load: () => import('../../docs/measurements.md'),
    },
  ],
  [
    'benchmark.md',
    {
      title: 'The benchmark',
      note: 'policies compared on whole conversations, and how to add yours',
      isOptional: true,
      load: () => import('../../docs/benchmark.md'),
    },
  ],
  [
    'design.md',
    {
      title: 'Design',
      note: 'the contract, with its word list',
      isOptional: true,
      load: () => import('../../docs/design.md'),
    },
  ],
  [
    'origins.md',
    {
      title: 'Origins',
      note: 'each feature with its page, its code and its test',
      isOptional: true,
      load: () => import('../../docs/origins.md'),
    },
  ],
]);

/** `/llms.txt` (https://llmstxt.org). */
export function llmsText(): string {
  const all = [...PAGES];
  const links = (isOptional: boolean): string =>
    all
      .filter(([, page]) => (page.isOptional ?? false) === isOptional)
      .map(([file, { title, note }]) => `- [${title}](/docs/${file}): ${note}`)
      .join('\n');
  return `# Precis

> Precis is a proxy between an OpenAI client and an OpenAI-compatible API. It forwards a shorter, still valid view of long conversations: old tool outputs become one-line placeholders, and old turns become a running summary. What it removes can be fetched back.

A client changes its \`baseURL\` to \`/v1\` of this deployment, and sends its whole \`messages\` or \`input\` array each time, as before. The body field \`memory_strategy\`, the header \`x-memory-strategy\` or a base URL with \`/agents/{agent}/v1\` chooses what happens to old messages. There is no session: array and strategy alone decide what is removed.

## Reference

- [OpenAPI document](/openapi.json): every route, field, header and error, as OpenAPI 3.1
- [Reference](/docs): the same as a page, with examples

## Documentation

${links(false)}

## Optional

${links(true)}
`;
}
