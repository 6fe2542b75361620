/**
 * The output that a call can be billed for, by its request: what it asks for at most, and whether
 * the model may write what its answer does not show.
 */
import { asObject } from '../../lib/json.ts';
import { reasoningOf } from '../../memory/models/upstream-apis.ts';

const CHAT = '/chat/completions';
const RESPONSES = '/responses';
export const MESSAGES = '/messages';

/** Its answers are vectors. */
export const EMBEDDINGS = '/embeddings';

/**
 * The fields by which each API limits an answer. Another API's field is no limit: a server may
 * ignore what it does not know.
 */
const LIMIT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  [CHAT]: ['max_completion_tokens', 'max_tokens'],
  [RESPONSES]: ['max_output_tokens'],
  [MESSAGES]: ['max_tokens'],
};

/** Tokens that are expected of an answer without a limit of its own. */
const USUAL_OUTPUT = 4_096;

/** The fields that are read. */
export const OUTPUT_FIELDS: readonly string[] = [
  ...new Set(Object.values(LIMIT_FIELDS).flat()),
  ...['n', 'reasoning', 'reasoning_effort', 'thinking'],
];

type Field = (name: string) => unknown;

export interface MostOutput {
  /** Tokens that are expected. */
  readonly usual: number;
  /** The most. */
  readonly most: number;
  /** Whether the request says that it wants no more than `usual`. */
  readonly isAsked: boolean;
  /** Tokens that the model may write at most without showing them. */
  readonly hidden: number;
}

/** @param longest the longest answer of the model in tokens, if that is known */
export function mostOutput(path: string, model: string, field: Field, longest = USUAL_OUTPUT): MostOutput {
  if (path === EMBEDDINGS) return { usual: 0, most: 0, isAsked: true, hidden: 0 };
  const named = (LIMIT_FIELDS[path] ?? []).map(field).filter(isCount);
  const n = field('n');
  const choices = isCount(n) ? n : 1;
  const hidden = hiddenOutput(path, model, field);
  // A server that knows several of them may go by any.
  if (named.length > 0) {
    const asked = Math.max(...named) * choices;
    return { usual: asked, most: asked, isAsked: true, hidden };
  }
  const most = Math.max(USUAL_OUTPUT, longest) * choices;
  return { usual: USUAL_OUTPUT * choices, most, isAsked: false, hidden };
}

/** How the APIs, and gateways before them, ask a model to reason, or not to. */
function hiddenOutput(path: string, model: string, field: Field): number {
  const thinking = asObject(field('thinking'));
  const reasoning = asObject(field('reasoning'));
  const effort = field('reasoning_effort') ?? reasoning.effort;
  const isOff = thinking.type === 'disabled' || effort === 'none' || reasoning.enabled === false;
  if (isOff) return 0;
  if (path === MESSAGES && thinking.type === 'enabled' && isCount(thinking.budget_tokens))
    return thinking.budget_tokens;
  const isAsked =
    thinking.type !== undefined || typeof effort === 'string' || Object.keys(reasoning).length > 0;
  return isAsked || reasoningOf(model).reasons ? Number.POSITIVE_INFINITY : 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
