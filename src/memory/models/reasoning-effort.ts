/** How models reason that a summary is asked of. It takes no thought, and thinking takes time. */
import { baseName, claude, rowOfModel, rows, spelling } from './families.ts';

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
const ROWS = [
  ...rows(['gpt-5.1', 'gpt-5.2', 'gpt-5.4', 'gpt-5.5', 'gpt-5.6', 'gpt-6'], { reasons: true, stops: true }),
  ...rows(['gpt-5', 'gpt-6.1-sol', 'gpt-6.2', 'o1', 'o3', 'o4'], { reasons: true, stops: false }),
  ...rows(claude(['fable', 'mythos', 'opus-5', 'sonnet-5', 'haiku-5']), { reasons: true, stops: false }),
];

/** Variants that always reason, or that have no such setting. */
const OTHER_VARIANTS = /-(?:pro|codex|chat)(?:-|$)/;

const UNKNOWN: Reasoning = { reasons: false, stops: false };

/** @param model its name, as it is sent */
export function reasoningOf(model: string): Reasoning {
  const { reasons, stops } = rowOfModel(model, ROWS) ?? UNKNOWN;
  return { reasons, stops: stops && !OTHER_VARIANTS.test(spelling(baseName(model))) };
}
