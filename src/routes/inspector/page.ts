/** The inspector's pages as HTML. All else is in their script and style sheet. */
import { html, raw } from 'hono/html';
import { workerBar } from '../../reference/docs/place.ts';
import { ICON, MARK } from '../../reference/mark.ts';

/** The attributes of an HTML document that are decided on the server. */
interface PageFacts {
  /** Whether callers without a key are served: `LOCAL_TENANT`. */
  readonly keyOptional: boolean;
}

/** `/inspect`: the script builds everything in the body. */
export function inspectorPage({ keyOptional }: PageFacts): string {
  const script = '<script type="module" src="inspect/inspector.js"></script>';
  const body = '<div id="app"></div><noscript><p>The inspector needs JavaScript.</p></noscript>';
  return documentOf('Precis inspector', script, body, ` data-key="${keyOptional ? 'optional' : 'needed'}"`);
}

/** What the front page says of this deployment. */
interface FrontFacts extends PageFacts {
  /** As callers reach it, such as `https://precis.example`. */
  readonly origin: string;
  /** Whether its configuration is valid. */
  readonly isHealthy: boolean;
}

/** `/`: what this is, its state, and a first request of each API. */
export function frontPage(facts: FrontFacts): string {
  const { origin, isHealthy } = facts;
  const state = isHealthy
    ? html`<p><span class="status healthy">It is running.</span></p>`
    : html`<p><span class="status stuck">It is misconfigured and refuses all requests. Its log says why.</span></p>`;
  const body = html`<header class="top">
<a class="brand" href="." aria-current="page">${raw(MARK)}Precis</a>
<nav aria-label="Precis">${workerBar('').links.map(([label, address]) => html`<a href="${address}">${label}</a> `)}</nav>
</header>
<main class="front">
<h1>Long conversations, short requests</h1>
<p class="lead">A memory proxy for the APIs of OpenAI and Anthropic. Your client sends the whole conversation each
time; Precis forwards a shorter, still valid view of it, keeps what it leaves out, and reports the savings.</p>
${state}
<h2>A first request</h2>
<p>Set the <code>baseURL</code> of OpenAI’s client to <code>${origin}/v1</code>, or try it here. A click selects
all of it.</p>
${copied(FIRST_REQUESTS.openai, facts)}
<p>Anthropic’s client adds <code>/v1</code> itself: set its <code>baseURL</code> to <code>${origin}</code>, or
try it here.</p>
${copied(FIRST_REQUESTS.anthropic, facts)}
<h2>Next</h2>
<ul class="links">
<li><a href="inspect">Inspector</a>: what a model saw of your conversations, why, and what that saved</li>
<li><a href="docs/getting-started">Documentation</a>: from the first start to running it for a team, with a search</li>
<li><a href="docs">API reference</a>: each route, field, header and error</li>
<li><a href="openapi.json">OpenAPI document</a>: the same for programs</li>
<li><a href="llms.txt">llms.txt</a>: the same for models</li>
</ul>
</main>`;
  return documentOf('Precis: a memory proxy for OpenAI and Anthropic', '', String(body), '');
}

/** What distinguishes the first requests of two APIs. */
interface FirstRequest {
  readonly path: string;
  /** The header with the caller's key. */
  readonly key: string;
  readonly headers: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
}

const FIRST_REQUESTS = {
  openai: {
    path: '/v1/chat/completions',
    key: 'Authorization: Bearer $OPENAI_API_KEY',
    headers: [],
    body: { model: 'gpt-6-luna' },
  },
  anthropic: {
    path: '/v1/messages',
    key: 'x-api-key: $ANTHROPIC_API_KEY',
    headers: ['anthropic-version: 2023-06-01'],
    body: { model: 'claude-sonnet-5-5', max_tokens: 1024 },
  },
} as const satisfies Record<string, FirstRequest>;

function copied(request: FirstRequest, facts: FrontFacts) {
  return html`<pre class="copied" tabindex="0">${firstRequest(request, facts)}</pre>`;
}

function firstRequest(
  { path, key, headers, body }: FirstRequest,
  { origin, keyOptional }: FrontFacts,
): string {
  const all = [...(keyOptional ? [] : [key]), ...headers, 'Content-Type: application/json'];
  const members = Object.entries(body).map(([name, value]) => `    "${name}": ${JSON.stringify(value)},\n`);
  return `curl ${origin}${path} \\
${all.map((header) => `  -H "${header}" \\\n`).join('')}  -d '{
${members.join('')}    "conversation_id": "first",
    "memory_strategy": {"mode": "auto"},
    "messages": [{"role": "user", "content": "Say hello."}]
  }'`;
}

function documentOf(title: string, head: string, body: string, attributes: string): string {
  return `<!doctype html>
<html lang="en"${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${ICON}
<link rel="stylesheet" href="inspect/inspector.css">
${head}
</head>
<body>
${body}
</body>
</html>
`;
}
