/**
 * How APIs treat the reasoning of earlier turns that comes back in a request. It is cleared without
 * being asked for only where a source says that it is billed, and that a history without it is
 * accepted; or where it is bound to what precedes it, and that has changed.
 */
import { acceptsVersion, claude, type FamilyRow, type FirstOnly, rowOfModel, rows } from './families.ts';

/** How a message carries its reasoning: as items of the array, or in fields of its own. */
export type ReasoningForm = 'items' | 'fields';

/**
 * - billed: the model reads it again, and a history without it is accepted.
 * - required: a history without it is refused.
 * - bound: it is refused where anything before it has changed. A history without it is accepted.
 * - dropped: likewise, but it is left out without an error, and billed all the same.
 */
type PastReasoning = 'billed' | 'required' | 'bound' | 'dropped';

/** Whether an API binds thinking to what precedes it. */
export function bindsThinking({ items, fields }: ReasoningTerms): boolean {
  return isBound(items) || isBound(fields);
}

/** Whether no error says that thinking was lost. */
export function dropsThinking({ items }: ReasoningTerms): boolean {
  return items === 'dropped';
}

function isBound(treated: PastReasoning | undefined): boolean {
  return treated === 'bound' || treated === 'dropped';
}

/** By its form in the array. Absent: nobody knows, or the API leaves it out by itself. */
export type ReasoningTerms = Readonly<Partial<Record<ReasoningForm, PastReasoning>>>;

interface ReasoningRow extends FamilyRow, FirstOnly {
  readonly terms: ReasoningTerms;
}

/** Models of Anthropic that bind no thinking. */
const OLDER_CLAUDE = claude([
  '3',
  '4',
  ...['haiku', 'sonnet', 'opus'].flatMap((tier) => [`${tier}-3`, `${tier}-4`]),
]);
/** Of these, those since 5.1 or 5.5 do. */
const FIRST_CLAUDE_5 = claude(['fable-5', 'mythos-5', 'opus-5', 'sonnet-5', 'haiku-5']);

const REQUIRED: ReasoningTerms = { items: 'required', fields: 'required' };

/**
 * The longest family applies. What has no row is never cleared by default:
 *
 * - OpenAI's models before GPT-5.6 leave it out by themselves, and do not bill it (measured:
 *   https://github.com/tmustier/pine-of-glass/issues/63, 2026-08-03).
 * - GLM (https://docs.z.ai/guides/capabilities/thinking-mode, `clear_thinking`) and Qwen
 *   (`preserve_thinking`, https://lmstudio.ai/unn/qwen3.6-35b-a3b-4bit) leave it out unless the
 *   caller asks for it (read 2026-11).
 * - xAI advises to send all of it, and answers worse without
 *   (https://docs.x.ai/developers/advanced-api-usage/troubleshooting-reasoning, read 2026-11). It
 *   does not say that a change before it takes it along, so it stays beside all edits.
 */
const ROWS: readonly ReasoningRow[] = [
  // https://developers.openai.com/api/docs/guides/reasoning (2026-09, `reasoning.context`): GPT-5.6
  // reads the reasoning of earlier turns that is in the input, and `current_turn` leaves it out.
  // https://openrouter.ai/docs/client-sdks/python/components/reasoningcontext.md (read 2026-11):
  // the same for newer models.
  ...rows(['gpt-5.6', 'gpt-6.1'], { terms: { items: 'billed' } }),
  ...rows(['gpt-6'], { terms: { items: 'billed' }, isFirst: true }),
  // https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11): since GPT-6.2,
  // reasoning items after a change of the history are dropped, with a 200.
  ...rows(['gpt-6'], { terms: { items: 'dropped', fields: 'dropped' } }),
  // https://api-docs.deepseek.com/guides/thinking_mode (read 2026-11): for turns that call tools, a
  // 400 in all later requests.
  ...rows(['deepseek'], { terms: REQUIRED }),
  // "thinking is enabled but reasoning_content is missing in assistant tool call message"
  // (https://github.com/MoonshotAI/kimi-agent-sdk/issues/169, 2026-04-23).
  ...rows(['kimi'], { terms: REQUIRED }),
  // https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (2026-08-31): a
  // thinking block is refused if anything before it has changed. Thinking may leave from the start.
  ...rows(['claude'], { terms: { items: 'bound', fields: 'bound' } }),
  // https://platform.claude.com/docs/en/build-with-claude/extended-thinking (read 2026-11): while
  // tools are used, the thinking before the calls has to be sent back. None is bound.
  ...rows(OLDER_CLAUDE, { terms: REQUIRED }),
  ...rows(FIRST_CLAUDE_5, { terms: REQUIRED, isFirst: true }),
  // "reasoning details must be preserved" (https://github.com/RooCodeInc/Roo-Code/issues/11629,
  // read 2026-11).
  ...rows(['gemini'], { terms: REQUIRED }),
];

/** The terms of a model by its name. */
export function reasoningTermsOf(model: string | undefined): ReasoningTerms {
  return rowOfModel(model, ROWS, acceptsVersion)?.terms ?? {};
}

/** Whose thinking is unread by `UNREADING`. Of other pairs of models no source says it. */
const UNREAD: readonly (FamilyRow & FirstOnly & { readonly isUnread: boolean })[] = [
  ...rows(claude(['fable-5']), { isUnread: false, isFirst: true }),
  ...rows(claude(['fable-5']), { isUnread: true }),
];
const UNREADING = rows(claude(['opus-5']), {});

/** Whether a model may drop another one's thinking, without an error. */
export function dropsUnread(model: string | undefined): boolean {
  return rowOfModel(model, UNREADING) !== undefined;
}

/**
 * Whether a model reads the thinking of another one. "Neither Claude Opus 5 nor Claude Opus 5.5
 * reads blocks from Claude Fable 5.1": the API drops them from the request
 * (https://platform.claude.com/docs/build-with-claude/preserved-thinking, read 2026-11).
 */
export function readsThinkingOf(model: string, maker: string): boolean {
  return !dropsUnread(model) || rowOfModel(maker, UNREAD, acceptsVersion)?.isUnread !== true;
}
