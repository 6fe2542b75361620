/** From schemas in zod to JSON Schema, with the named ones as components of a document. */
import * as z from 'zod';
import type { JsonSchema, Shape } from './shape.ts';

type Tree = Record<string, unknown>;

/** Zod's names of a schema, which a document has as the key of the component. */
const NAMES = new Set(['$schema', '$id', 'id', '$defs']);

/** Collects the named schemas of a document. */
export class Components {
  private readonly found = new Map<string, JsonSchema>();

  /** By name, in the order of the alphabet. */
  get schemas(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.found].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  add(name: string, schema: JsonSchema): void {
    this.found.set(name, schema);
  }

  describe(name: string, description: string): void {
    this.add(name, { ...this.found.get(name), description });
  }

  /** A reference to a schema that has a name, else the schema. */
  of(shape: Shape): JsonSchema {
    if (!isZod(shape)) return shape;
    const name = z.globalRegistry.get(shape)?.id;
    if (name === undefined) return this.convert(shape, 'output');
    // Zod puts a named root among its definitions, and refers to it.
    if (!this.found.has(name)) this.convert(shape, 'output');
    return { $ref: `#/components/schemas/${name}` };
  }

  /**
   * @param io `input`: what a caller may write, without the defaults
   * @param metadata the names and the sentences of schemas
   */
  convert(schema: z.ZodType, io: 'input' | 'output', metadata = z.globalRegistry): JsonSchema {
    const tree = z.toJSONSchema(schema, { io, metadata }) as Tree;
    for (const [name, part] of Object.entries((tree.$defs as Tree | undefined) ?? {}))
      if (!this.found.has(name)) this.add(name, plain(part as Tree));
    return plain(tree);
  }
}

function isZod(shape: Shape): shape is z.ZodType {
  return '_zod' in shape;
}

/** A schema without its name, and with references into a document. */
function plain(tree: Tree): Tree {
  const entries = Object.entries(tree).filter(([key, value]) => !NAMES.has(key) && !isUnbounded(key, value));
  return Object.fromEntries(entries.map(([key, value]) => [key, plainMember(key, value)]));
}

function plainMember(key: string, value: unknown): unknown {
  if (key === '$ref' && typeof value === 'string') return value.replace('#/$defs/', '#/components/schemas/');
  // Names of members, which may be called `id`.
  if (key === 'properties') return mapValues(value as Tree, (member) => plain(member as Tree));
  if (Array.isArray(value)) return value.map((one) => (isTree(one) ? plain(one) : one));
  return isTree(value) && key !== 'default' ? plain(value) : value;
}

/** Zod says of each integer that a number can hold it. */
function isUnbounded(key: string, value: unknown): boolean {
  return (
    (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
    (key === 'minimum' && value === Number.MIN_SAFE_INTEGER)
  );
}

export function mapValues<Value, To>(
  object: Readonly<Record<string, Value>>,
  change: (value: Value, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The schema that takes null too. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type, description, default: usual, ...rest } = schema;
  const about = {
    ...(usual === undefined ? {} : { default: usual }),
    ...(description === undefined ? {} : { description }),
  };
  if (typeof type === 'string' && !('enum' in rest)) return { type: [type, 'null'], ...rest, ...about };
  const { anyOf, ...other } = schema;
  if (Array.isArray(anyOf)) return { ...other, anyOf: [...anyOf, { type: 'null' }] };
  return { anyOf: [type === undefined ? rest : { type, ...rest }, { type: 'null' }], ...about };
}
