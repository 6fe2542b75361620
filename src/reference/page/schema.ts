/**
 * A JSON Schema as HTML: its type in a line, its members in a list that opens. Words have codes in
 * backticks.
 */
import { html } from 'hono/html';
import type { JsonSchema } from '../shape.ts';

const COMPONENT = '#/components/schemas/';

/** The anchor of a component. */
export function anchorOf(name: string): string {
  return `schema-${name}`;
}

/** A schema's type in a line. */
export function typeLine(schema: JsonSchema): Html {
  const { $ref, type, items, anyOf, oneOf, allOf } = schema;
  if (typeof $ref === 'string') return reference($ref);
  if ('const' in schema) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (Array.isArray(schema.enum)) return joined(schema.enum.map(literal), ' · ');
  for (const choice of [anyOf, oneOf])
    if (Array.isArray(choice)) {
      const lines = new Map(choice.map(typeLine).map((one) => [String(one), one]));
      return joined([...lines.values()], ' or ');
    }
  if (Array.isArray(allOf)) {
    // Members are listed below the line.
    const others = allOf.filter((part: JsonSchema) => part.properties === undefined);
    return others.length === 0 ? html`object` : joined(others.map(typeLine), ' and ');
  }
  if (isSchema(items)) return html`list of ${typeLine(items)}`;
  if (Array.isArray(type)) return html`${type.join(' or ')}${limits(schema)}`;
  if (typeof type === 'string') return html`${type}${limits(schema)}`;
  return schema.required === undefined
    ? html`any value`
    : html`with ${(schema.required as string[]).join(', ')}`;
}

function reference(ref: string): Html {
  const name = ref.slice(ref.lastIndexOf('/') + 1);
  if (ref.startsWith(COMPONENT)) return html`<a href="#${anchorOf(name)}">${name}</a>`;
  return html`<a href="${ref.slice(0, ref.indexOf('#'))}" rel="noreferrer">OpenAI's <code>${name}</code></a>`;
}

function literal(value: unknown): Html {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;
}

const LIMITS = {
  minimum: 'from ',
  exclusiveMinimum: 'over ',
  maximum: 'to ',
  minLength: 'at least ',
  maxLength: 'at most ',
  minItems: 'at least ',
  maxItems: 'at most ',
} as const;

/** `, from 0, to 1`. */
function limits(schema: JsonSchema): string {
  const texts = Object.entries(LIMITS).flatMap(([key, words]) =>
    schema[key] === undefined || (key === 'minLength' && schema[key] === 1)
      ? []
      : [`${words}${schema[key]}${key.endsWith('Length') ? ' characters' : ''}`],
  );
  return texts.map((one) => `, ${one}`).join('');
}

/** Parts with a text between each two. */
export function joined(parts: readonly Html[], between: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${between}${part}`))}`;
}

/** The members of a schema, and of what it is made of; nothing for a plain value. */
export function membersOf(schema: JsonSchema): Html[] {
  const { properties, required, items, additionalProperties } = schema;
  const parts = [...schemasIn(schema.allOf).flatMap(membersOf), ...alternativesOf(schema)];
  const inner = isSchema(items) ? membersOf(items) : [];
  const open = isSchema(additionalProperties) ? membersOf(additionalProperties) : [];
  if (!isSchema(properties)) return [...inner, ...open, ...parts];
  const needed = Array.isArray(required) ? required : [];
  const list = html`<dl>${Object.entries(properties).map(([name, member]) =>
    memberOf(name, member as JsonSchema, needed.includes(name)),
  )}</dl>`;
  return [list, ...inner, ...open, ...parts];
}

/** Of several objects, each by itself. */
function alternativesOf({ anyOf, oneOf }: JsonSchema): Html[] {
  const all = [...schemasIn(anyOf), ...schemasIn(oneOf)].filter((one) => membersOf(one).length > 0);
  if (all.length < 2) return all.flatMap(membersOf);
  return all.map((one) => html`<details open><summary>${nameOf(one)}</summary>${membersOf(one)}</details>`);
}

/** An object by the member that distinguishes it from others. */
function nameOf({ properties = {} }: JsonSchema): Html {
  const [key, member] =
    Object.entries(properties as Record<string, JsonSchema>).find(([, one]) => 'const' in one) ?? [];
  if (key === undefined || member === undefined) return html`Either`;
  return html`<code>${key}: ${JSON.stringify(member.const)}</code>`;
}

function schemasIn(list: unknown): JsonSchema[] {
  return Array.isArray(list) ? list.filter(isSchema) : [];
}

function memberOf(name: string, schema: JsonSchema, isNeeded: boolean): Html {
  const { description } = schema;
  const usual =
    'default' in schema
      ? html` <span class="usual">default <code>${JSON.stringify(schema.default)}</code></span>`
      : '';
  const inner = membersOf(schema);
  return html`<dt><code>${name}</code> <i>${typeLine(schema)}</i>${
    isNeeded ? html` <em>required</em>` : ''
  }${usual}</dt><dd>${typeof description === 'string' ? meaning(description) : ''}${
    inner.length > 0
      ? html`<details><summary>Members of <code>${name}</code></summary>${inner}</details>`
      : ''
  }</dd>`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type Html = ReturnType<typeof html>;

/** Paragraphs. */
export function prose(text: string): Html {
  return html`${text.split('\n\n').map((paragraph) => html`<p>${line(paragraph)}</p>`)}`;
}

/** What a field means: its words alone where they are one paragraph. */
export function meaning(text: string): Html {
  return text.includes('\n\n') ? prose(text) : line(text);
}

/** A line with codes. */
export function line(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
