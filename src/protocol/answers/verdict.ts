/**
 * What vendors say of the request in an answer, whole or streamed
 * (https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics,
 * https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics;
 * `input_transformations`: https://developers.openai.com/api/docs/guides/keep-prefix-unchanged, and
 * the types of `openai` 7.57). Read from the text in which the usage is found, without parsing the
 * rest. In a stream no quote of a content is unescaped; in a whole answer the input of a tool is an
 * object of the model's own, so a member counts at its place alone.
 */
import { asObject, type JsonObject, parseJson } from '../../lib/json.ts';
import type { ChangedPart, VendorVerdict } from '../../memory/replay/change.ts';

/** OpenAI's reasons, and Anthropic's. Others say that nothing could be compared. */
const PARTS: Readonly<Record<string, ChangedPart>> = {
  model_changed: 'model',
  prompt_cache_key_changed: 'key',
  service_tier_changed: 'tier',
  tools_changed: 'tools',
  text_format_changed: 'format',
  verbosity_changed: 'format',
  reasoning_effort_changed: 'effort',
  context_compacted: 'input',
  input_changed: 'input',
  system_changed: 'input',
  messages_changed: 'input',
};

/** Why reasoning was dropped, if not for what precedes it: Anthropic's reasons, and OpenAI's. */
const BINDINGS: Readonly<Record<string, 'model' | 'user'>> = {
  model_binding_mismatch: 'model',
  end_user_binding_mismatch: 'user',
  organization_binding_mismatch: 'user',
  model_mismatch: 'model',
  end_user_mismatch: 'user',
  organization_mismatch: 'user',
};

/**
 * Undefined if an answer says nothing.
 *
 * @param text of the answer, or of its beginning and its end
 * @param isWhole whether it is a JSON object, and no stream
 */
export function verdictIn(text: string, isWhole: boolean): VendorVerdict | undefined {
  const last: Last = (name, form, depth) => lastOf(text, name, form, isWhole ? depth : undefined);
  const cache = openaisIn(last) ?? anthropicsIn(last);
  const dropped = droppedIn(last);
  if (!cache && !dropped) return undefined;
  return { ...(cache ? { cache } : {}), ...(dropped ? { dropped } : {}) };
}

/** @param depth of the member in a whole answer: 1 at its top */
type Last = (name: string, form: RegExp, depth: number) => unknown;

function openaisIn(last: Last): VendorVerdict['cache'] {
  const { type, reason } = asObject(last('prompt_cache_diagnostics', FLAT_OBJECT, 1));
  return type === 'cache_hit' ? 'none' : partOf(reason);
}

/** Without a reason it may still be comparing, or has found no difference. */
function anthropicsIn(last: Last): VendorVerdict['cache'] {
  return partOf(asObject(last('cache_miss_reason', FLAT_OBJECT, 2)).type);
}

function partOf(reason: unknown): ChangedPart | undefined {
  return typeof reason === 'string' && Object.hasOwn(PARTS, reason) ? PARTS[reason] : undefined;
}

/**
 * In Messages only requests with the beta `thinking-binding-controls-2026-08-01` are answered with
 * it. An empty list says that nothing was dropped.
 */
function droppedIn(last: Last): VendorVerdict['dropped'] {
  const list = last('input_transformations', FLAT_OBJECTS, 1);
  if (!Array.isArray(list)) return undefined;
  const dropped = list.map(asObject).filter(isDropped);
  // What was dropped of an earlier request precedes it.
  const part = BINDINGS[String(dropped.at(-1)?.reason)];
  return { blocks: dropped.length, ...(part ? { part } : {}) };
}

/** Reasoning of turns before is left out where a request asks for that (`reasoning.context`). */
function isDropped({ type, action, reason }: JsonObject): boolean {
  if (type === 'reasoning') return action === 'removed' && reason !== 'turn_boundary';
  return type === 'thinking_dropped';
}

/** A value without further ones in it, after the name of its member. */
const FLAT_OBJECT = /^"\w+"\s*:\s*(\{[^{}]*\})/;
const FLAT_OBJECTS = /^"\w+"\s*:\s*(\[[^[\]]*\])/;

/**
 * The last value of a member. Undefined if it is not of this form, or elsewhere in a whole answer.
 *
 * @param depth absent in a stream
 */
function lastOf(text: string, name: string, form: RegExp, depth: number | undefined): unknown {
  const at = text.lastIndexOf(`"${name}"`);
  if (at < 0 || (depth !== undefined && depthAt(text, at) !== depth)) return undefined;
  return parseJson(form.exec(text.slice(at))?.[1] ?? '');
}

const STRINGS = /"(?:[^"\\]|\\.)*"/g;

/** How many objects and lists are open at a place of a JSON text: as many as end after it. */
function depthAt(text: string, at: number): number {
  const marks = [...text.slice(at).replace(STRINGS, '')];
  const count = (kinds: string): number => marks.filter((mark) => kinds.includes(mark)).length;
  return count('}]') - count('{[');
}
