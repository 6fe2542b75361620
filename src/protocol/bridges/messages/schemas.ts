/**
 * Schemas that the API enforces: of an answer's format, and of strict tools. It refuses a request
 * with what it can't enforce, where OpenAI answers
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema
 * limitations").
 */
import { wordsOf } from '../../../lib/elements.ts';
import { asObject, asString, isObject, type JsonObject } from '../../../lib/json.ts';

const KEPT = wordsOf('type enum const default title required additionalProperties $ref');

/** Keywords with several schemas, in a list or by name. */
const HOLDING = wordsOf('properties $defs definitions anyOf allOf');

/** The formats of a text that the API knows. */
const FORMATS = wordsOf('date-time time date duration email hostname uri ipv4 ipv6 uuid');

/** Look-around, references to groups, and bounds of words. */
const REFUSED_PATTERN = /\(\?(?:[=!]|<[=!])|\\[1-9bB]/;

/**
 * A schema as the API enforces it. What it can't enforce is said in the description, which the
 * model reads.
 *
 * @param notices gets a code if anything is only said
 */
export function enforceable(schema: JsonObject, notices: Set<string>): JsonObject {
  const { description, $schema: _, ...keywords } = schema;
  const within = (value: unknown): unknown => (isObject(value) ? enforceable(value, notices) : value);
  const kept: JsonObject = {};
  const said: string[] = [];
  for (const [keyword, value] of Object.entries(keywords)) {
    if (keyword === 'items') kept.items = within(value);
    else if (keyword === 'oneOf' && !('anyOf' in schema)) kept.anyOf = each(value, within);
    else if (HOLDING.has(keyword)) kept[keyword] = each(value, within);
    else if (isKept(keyword, value)) kept[keyword] = value;
    else said.push(`${keyword}: ${JSON.stringify(value)}`);
  }
  if ([schema.type].flat().includes('object')) kept.additionalProperties ??= false;
  if (said.length > 0) notices.add('schema_limits_described');
  const words = [asString(description), said.join(', ')].filter(Boolean).join('\n');
  return { ...kept, ...(words === '' ? {} : { description: words }) };
}

function each(schemas: unknown, within: (schema: unknown) => unknown): unknown {
  if (Array.isArray(schemas)) return schemas.map(within);
  return Object.fromEntries(
    Object.entries(asObject(schemas)).map(([name, schema]) => [name, within(schema)]),
  );
}

function isKept(keyword: string, value: unknown): boolean {
  if (keyword === 'minItems') return value === 0 || value === 1;
  if (keyword === 'format') return FORMATS.has(asString(value));
  if (keyword === 'pattern') return !REFUSED_PATTERN.test(asString(value));
  return KEPT.has(keyword);
}
