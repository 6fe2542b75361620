/** The inspector's pages as HTML. All else is in their script and style sheet. */

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

/** `/`: what this is. */
export function frontPage(): string {
  const body = `<main class="front">
<h1>Precis</h1>
<p>This is a memory proxy for the OpenAI API. Set your client's <code>baseURL</code> to this address with
<code>/v1</code> behind it. The proxy forwards a shorter, still valid view of each long conversation, and keeps what it
leaves out.</p>
<p><a href="inspect">Open the inspector</a> to see what a model saw of your conversations, and why.</p>
</main>`;
  return documentOf('Precis', '', body, '');
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
