/** The inspector's pages as HTML. All else is in their script and style sheet. */
import { html } from 'hono/html';

/** The attributes of an HTML document that are decided on the server. */
export interface PageFacts {
  /** Whether callers without a key are served: `LOCAL_TENANT`. */
  readonly keyOptional: boolean;
}

/** `/inspect`: the script builds everything in the body. */
export function inspectorPage({ keyOptional }: PageFacts): string {
  const script = '<script type="module" src="inspect/inspector.js"></script>';
  const body = '<div id="app"></div><noscript><p>The inspector needs JavaScript.</p></noscript>';
  return documentOf(
    'Precis inspector',
    `${script}`,
    body,
    `data-key="${keyOptional ? 'optional' : 'needed'}"`,
  );
}

/** What the front page says of this deployment. */
export interface FrontFacts extends PageFacts {
  /** As callers reach it, such as `https://precis.example`. */
  readonly origin: string;
  /** Whether its configuration is valid. */
  readonly isHealthy: boolean;
}

/** `/`: what this is, its state, and a first request. */
export function frontPage({ origin, isHealthy, keyOptional }: FrontFacts): string {
  const state = isHealthy
    ? '<p><span class="status healthy">It is running.</span></p>'
    : '<p><span class="status stuck">It is misconfigured and refuses all requests. Its log says why.</span></p>';
  const body = `<main class="front">
<h1>Precis</h1>
<p class="lead">A memory proxy for the OpenAI API. Your client sends the whole conversation each time; Precis forwards
a shorter, still valid view of it, keeps what it leaves out, and says what that has saved.</p>
${state}
<h2>A first request</h2>
<p>Set the <code>baseURL</code> of your client to <code>${escaped(origin)}/v1</code>, or try it here. A click selects all
of it.</p>
<pre class="copied" tabindex="0">${escaped(firstRequest(origin, keyOptional))}</pre>
<h2>Go on</h2>
<ul class="links">
<li><a href="inspect">Inspector</a>: what a model saw of your conversations, why, and what it has saved</li>
<li><a href="docs">Reference</a>: each route and field, with the pages of the documentation</li>
<li><a href="openapi.json">OpenAPI document</a>: the same for programs</li>
<li><a href="llms.txt">llms.txt</a>: the same for models</li>
</ul>
</main>`;
  return documentOf('Precis: a memory proxy for the OpenAI API', '', body, '');
}

function firstRequest(origin: string, keyOptional: boolean): string {
  const key = keyOptional ? '' : `  -H "Authorization: Bearer $OPENAI_API_KEY" \\\n`;
  return `curl ${origin}/v1/chat/completions \\
${key}  -H "Content-Type: application/json" \\
  -d '{
    "model": "gpt-4.1-mini",
    "conversation_id": "first",
    "memory_strategy": {"mode": "auto"},
    "messages": [{"role": "user", "content": "Say hello."}]
  }'`;
}

function escaped(text: string): string {
  return String(html`${text}`);
}

function documentOf(title: string, head: string, body: string, attributes: string): string {
  return `<!doctype html>
<html lang="en"${attributes === '' ? '' : ` ${attributes}`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="inspect/inspector.css">
${head}
</head>
<body>
${body}
</body>
</html>
`;
}
