/** The conventions' names of vendors, by the host of their API. */
const PROVIDERS: readonly (readonly [host: RegExp, name: string])[] = [
  [/\.openai\.azure\.com$/, 'azure.ai.openai'],
  [/(^|\.)anthropic\.com$/, 'anthropic'],
  [/(^|\.)generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)groq\.com$/, 'groq'],
  [/(^|\.)mistral\.ai$/, 'mistral_ai'],
  [/(^|\.)moonshot\.(ai|cn)$/, 'moonshot_ai'],
  [/(^|\.)perplexity\.ai$/, 'perplexity'],
  [/(^|\.)x\.ai$/, 'x_ai'],
];

/** Of any other host only the API is known that it speaks. */
export function providerOf({ hostname, pathname }: URL): string {
  const known = PROVIDERS.find(([host]) => host.test(hostname))?.[1];
  return known ?? (pathname.endsWith('/messages') ? 'anthropic' : 'openai');
}
