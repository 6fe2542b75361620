/**
 * The major versions of the `openai` client, each as its own package, since their stream checks
 * differ.
 */
import type OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import { KEY } from '../deployment/deployment.ts';

/** The version that Precis depends on has the package's own name. */
const PACKAGES = { 4: 'openai-4', 5: 'openai-5', 6: 'openai', 7: 'openai-7' } as const;

export const OPENAI_VERSIONS = [4, 5, 6, 7] as const;

export type OpenAIVersion = (typeof OPENAI_VERSIONS)[number];

/** A client of a version, without retries. All versions have the methods that are used here. */
export async function openaiOf(version: OpenAIVersion, options: ClientOptions): Promise<OpenAI> {
  const { default: Client } = (await import(PACKAGES[version])) as { default: typeof OpenAI };
  return new Client({ apiKey: KEY, maxRetries: 0, ...options });
}

/** A streamed chat completion. Before version 5 the helper is under `beta`. */
export function chatStream(
  client: OpenAI,
  body: object,
): ReturnType<OpenAI['chat']['completions']['stream']> {
  const { chat, beta } = client as OpenAI & { beta: { chat?: OpenAI['chat'] } };
  const { completions } = 'stream' in chat.completions ? chat : (beta.chat ?? chat);
  return completions.stream(body as never);
}
