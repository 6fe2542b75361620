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

/** Any other host speaks OpenAI's protocol, and says no more about itself. */
export function providerOf(hostname: string): string {
  return PROVIDERS.find(([host]) => host.test(hostname))?.[1] ?? 'openai';
}
