/**
 * The part of a body that is the model's view: its conversation, instructions and tools, byte for
 * byte. Other fields are left out, and so are the values of members with which a tool's server is
 * asked: they may be keys.
 */
import { concat } from '../lib/bytes.ts';
import { isObject } from '../lib/json.ts';
import { fieldOf, jsonOf, scanObject } from './json/spans.ts';

/** In the order in which they are written. */
const FIELDS = ['model', 'instructions', 'system', 'tools', 'messages', 'input'] as const;
const OUTLINE = { fields: new Map(FIELDS.map((field) => [field, {}])) };

/**
 * Members of tools that may have secrets
 * (https://platform.openai.com/docs/guides/tools-remote-mcp).
 */
const SECRETS: readonly string[] = ['authorization', 'headers', 'server_url'];
const LEFT_OUT = '[left out]';

const encoder = new TextEncoder();

/** @param body as it went up. @returns JSON; undefined if the body is not a JSON object */
export function capturedView(body: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const root = scanObject(body, OUTLINE);
  if (!root) return undefined;
  const members = FIELDS.flatMap((field) => {
    const value = fieldOf(root, field)?.value;
    if (!value) return [];
    const json =
      field === 'tools'
        ? encoder.encode(JSON.stringify(withoutSecrets(jsonOf(body, value))))
        : body.subarray(value.start, value.end);
    return [[encoder.encode(`${JSON.stringify(field)}:`), json]];
  });
  const parts = members.flatMap((member, at) => (at === 0 ? member : [encoder.encode(','), ...member]));
  return new Uint8Array(concat([encoder.encode('{'), ...parts, encoder.encode('}')]));
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isObject(value)) return value;
  // A tool of a server. A function may have parameters of these names.
  if (value.type === 'function' || 'input_schema' in value) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      SECRETS.includes(key) ? LEFT_OUT : withoutSecrets(member),
    ]),
  );
}
