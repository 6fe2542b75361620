/**
 * Schemas that Anthropic's API enforces, as far as it can
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema
 * limitations"), read 2026-11. It refuses all others, in sentences that public reports quote.
 */
import { isFields, type Json, listed, type Report } from './json.ts';

const SHARED = 'type enum const title description default $ref $defs definitions anyOf allOf';
const KEYWORDS: Readonly<Record<string, string>> = {
  object: 'properties required additionalProperties',
  array: 'items minItems',
  string: 'format pattern',
};
const FORMATS = 'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' ');
const MOST_STRICT = 20;

export function checkSchemas({ tools, output_config }: Json, report: Report): void {
  const format = isFields(output_config) ? output_config.format : undefined;
  if (isFields(format)) checkSchema(format.schema, 'output_config.format.schema', report);
  const all = listed(tools).filter(isFields);
  for (const [at, { strict, input_schema }] of all.entries())
    if (strict === true) checkSchema(input_schema, `tools.${at}.custom`, report);
  const strict = all.filter((tool) => tool.strict === true).length;
  if (strict > MOST_STRICT)
    report(`tools: Too many strict tools (${strict}). The maximum number of strict tools is ${MOST_STRICT}.`);
}

function checkSchema(schema: unknown, path: string, report: Report): void {
  if (!isFields(schema)) {
    report(`${path}: Input should be a valid dictionary`);
    return;
  }
  const types = [schema.type].flat().map(String);
  const known = [SHARED, ...types.map((type) => KEYWORDS[type] ?? '')].join(' ').split(' ');
  const others = Object.keys(schema).filter((keyword) => !known.includes(keyword));
  if (others.length > 0)
    report(`${path}: For '${types[0]}' type, properties ${others.join(', ')} are not supported`);
  if (types.includes('object') && schema.additionalProperties !== false)
    report(`${path}: For 'object' type, 'additionalProperties' must be explicitly set to false`);
  if (![undefined, 0, 1].includes(schema.minItems as undefined))
    report(`${path}: For 'array' type, 'minItems' values other than 0 or 1 are not supported`);
  if (schema.format !== undefined && !FORMATS.includes(String(schema.format)))
    report(`${path}: String format '${schema.format}' is not supported`);
  const byName = [schema.properties, schema.$defs, schema.definitions].filter(isFields);
  const inner = [...byName.flatMap(Object.values), ...listed(schema.anyOf), ...listed(schema.allOf)];
  for (const one of [...inner, ...(schema.items === undefined ? [] : [schema.items])])
    checkSchema(one, path, report);
}
