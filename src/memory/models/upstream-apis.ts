/** Which models take tools over the Responses API alone. */
import { baseName, rowOfModel, rows } from './families.ts';

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
