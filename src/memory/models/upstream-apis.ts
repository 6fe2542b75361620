/** What the APIs of models take: tools over Responses alone, an effort, compaction of their own. */
import { baseName, claude, rowOfModel, rows, spelling } from './families.ts';

/**
 * https://developers.openai.com/api/docs/guides/deployment-checklist (read 2026-11): GPT-6 Astra
 * and GPT-6.1 Sol require Responses for tool calling, GPT-6 Sol and Luna take functions over chat
 * only with the effort `none`. From GPT-5.4 on any other effort is refused
 * (https://github.com/BerriAI/litellm/issues/33221); without one, it depends on the model's
 * default. `unasked`: tools are refused where the request names no effort.
 */
const ROWS = [
  ...rows(['gpt-5.4', 'gpt-5.5', 'gpt-5.6'], { unasked: false }),
  ...rows(['gpt-6'], { unasked: true }),
];

/**
 * Whether a model takes tools over the Responses API alone.
 *
 * @param effort of the request; undefined or null: it names none
 */
export function needsResponses(model: string | undefined, effort: unknown): boolean {
  const row = rowOfModel(model, ROWS);
  if (!row || effort === 'none') return false;
  return row.unasked || (effort ?? null) !== null;
}

/** Families of OpenAI's that do not reason (https://developers.openai.com/api/docs/models). */
const PLAIN = /^(?:gpt-3|gpt-4|chatgpt-4o)/;

/** Whether a model reasons, or may: nobody knows all. */
export function mayReason(model: string): boolean {
  return !PLAIN.test(baseName(model));
}

/**
 * Families of models with Anthropic's compaction on demand
 * (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, "Compatibility",
 * read 2026-11). A newer minor version is taken to have what its family has: if it does not, it
 * refuses one request, and a summary by Precis replaces the block.
 */
const COMPACTING = rows(
  claude(['fable-5', 'mythos', 'opus-4.6', 'opus-4.7', 'opus-4.8', 'opus-5', 'sonnet-4.6', 'sonnet-5']),
  {},
);

/** @param model its name, as it is sent */
export function summarizesOnDemand(model: string | undefined): boolean {
  return rowOfModel(model, COMPACTING) !== undefined;
}

/**
 * Whether its API may compact within a request (`context_management`). xAI's has a call of its own,
 * and ignores the field without an error (docs/vendors.md#a-vendors-own-compaction).
 */
export function mayCompactItself(model: string | undefined): boolean {
  return model === undefined || !baseName(model).startsWith('grok');
}

/** How a model reasons that a summary is asked of. It takes no thought, and thinking takes time. */
interface Reasoning {
  /** Whether the model may reason before it writes. */
  readonly reasons: boolean;
  /** Whether it takes `reasoning_effort: "none"`. */
  readonly stops: boolean;
}

/**
 * The longest family applies. Models before GPT-5.1 reason at least a little
 * (https://platform.openai.com/docs/api-reference/chat/create, `reasoning_effort`, read 2026-11),
 * and GPT-6.2 refuses `none` (https://developers.openai.com/api/docs/models/gpt-6.2-sol,
 * 2026-11-17), as GPT-6.1 Sol does (https://docs.laozhang.ai/en/announcements/gpt-6-1-sol-2026-10,
 * second hand). Claude's models think since 5 unless they are asked not to, which not all of them
 * take (https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5, read 2026-11).
 */
const REASONING = [
  ...rows(['gpt-5.1', 'gpt-5.2', 'gpt-5.4', 'gpt-5.5', 'gpt-5.6', 'gpt-6'], { reasons: true, stops: true }),
  ...rows(['gpt-5', 'gpt-6.1-sol', 'gpt-6.2', 'o1', 'o3', 'o4'], { reasons: true, stops: false }),
  ...rows(claude(['fable', 'mythos', 'opus-5', 'sonnet-5', 'haiku-5']), { reasons: true, stops: false }),
];

/** Variants that always reason, or that have no such setting. */
const OTHER_VARIANTS = /-(?:pro|codex|chat)(?:-|$)/;

const UNKNOWN: Reasoning = { reasons: false, stops: false };

/** @param model its name, as it is sent */
export function reasoningOf(model: string): Reasoning {
  const { reasons, stops } = rowOfModel(model, REASONING) ?? UNKNOWN;
  return { reasons, stops: stops && !OTHER_VARIANTS.test(spelling(baseName(model))) };
}
