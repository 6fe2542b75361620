/**
 * The reasoning of a chat message. OpenAI has no field for it; other servers send it back in one of
 * these.
 */
import { asObject, asObjects, asString } from '../../lib/json.ts';
import type { Weight } from '../../memory/conversation/message.ts';
import { ENCRYPTED_CHARACTERS, thoughtIn } from '../parts.ts';

/**
 * Text, by DeepSeek, Kimi and others, which refuse an answer with calls without it. An empty one is
 * a thought all the same (https://github.com/MoonshotAI/kimi-cli/pull/2498).
 */
export const REASONING_CONTENT = 'reasoning_content';

/** Text; the second by vLLM, OpenRouter and others, the last two by GitHub Copilot. */
export const REASONING_TEXTS: readonly string[] = [
  REASONING_CONTENT,
  'reasoning',
  'reasoning_text',
  'thinking',
];

/**
 * Copilot's signatures of these texts, or sealed thinking without one
 * (https://github.com/anomalyco/opencode/pull/8900).
 */
export const SEALED_TEXTS: readonly string[] = ['reasoning_opaque', 'signature'];

/** Fields of text with thinking, whoever can read it. */
export const THOUGHT_FIELDS: readonly string[] = [...REASONING_TEXTS, ...SEALED_TEXTS];

/** OpenRouter's list (https://openrouter.ai/docs/use-cases/reasoning-tokens). */
const REASONING_DETAILS = 'reasoning_details';

/** Anthropic's blocks, by LiteLLM (https://docs.litellm.ai/docs/reasoning_content). */
export const THINKING_BLOCKS = 'thinking_blocks';
/** Where LiteLLM repeats them. */
export const PROVIDER_FIELDS = 'provider_specific_fields';

/** Lists of thinking, in pieces in a stream. Each of them repeats the texts. */
export const THINKING_LISTS: readonly string[] = [REASONING_DETAILS, THINKING_BLOCKS];

export function isThinkingList(field: string): boolean {
  return THINKING_LISTS.includes(field);
}

/**
 * Anthropic's parts of a content, and Databricks'
 * (https://docs.databricks.com/aws/en/machine-learning/model-serving/score-reason-models).
 */
const THINKING_PARTS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

export function isThinkingPart(type: unknown): boolean {
  return THINKING_PARTS.has(type);
}

export function isThinking(part: unknown): boolean {
  return isThinkingPart(asObject(part).type);
}

const FIELDS = new Set([...THOUGHT_FIELDS, ...THINKING_LISTS]);

export function isReasoning(field: string): boolean {
  return FIELDS.has(field);
}

/**
 * What the model reads of `reasoning_details`, `thinking_blocks` or thinking parts: texts, and
 * encrypted data at a flat price.
 */
export function weightOfThinking(list: unknown): Weight {
  const parts = asObjects(list);
  const texts = parts
    .flatMap(({ text, summary, thinking }) => [asString(text), thoughtIn(summary), thoughtIn(thinking)])
    .filter(Boolean);
  const encrypted = parts.reduce(
    (sum, { data }) => sum + Math.ceil(asString(data).length / ENCRYPTED_CHARACTERS),
    0,
  );
  return { texts, flat: encrypted, encrypted };
}
