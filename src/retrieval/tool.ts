/**
 * The tool with which a model fetches removed content (docs/refs-and-retrieval.md#retrieval). Its
 * definition has the same bytes on every request.
 */
import * as z from 'zod';
import type { Result } from '../lib/result.ts';
import type { FETCH_NAMES } from '../memory/edits/repeats.ts';
import { type FunctionTool, functionTool } from '../protocol/tools.ts';
import { optionalText, parseArguments } from './arguments.ts';
import { parseQuery, type Query, type QueryFault } from './query.ts';

/** The tool's names. The second is for callers with a tool of the first name. */
type ToolName = (typeof FETCH_NAMES)[number];

/** Tokens of a result: the default and the maximum. */
const DEFAULT_TOKENS = 4_000;
export const MOST_TOKENS = 32_000;

/**
 * The tool's definition. Each request of a conversation carries it, also those from which nothing
 * is removed, so it is as short as a model understands.
 */
export function definitionOf(name: ToolName): FunctionTool<ToolName> {
  return functionTool(
    name,
    'Returns content that was removed from this conversation. Placeholders ⟦removed: …; ref=ref_…⟧ and summaries name its ref. Ask for a part where that will do.',
    {
      ref: { type: 'string' },
      lines: { type: 'string', description: 'such as 10-40' },
      grep: { type: 'string' },
      path: { type: 'string', description: 'such as $.items[3].id' },
      max_tokens: { type: 'integer', description: `up to ${MOST_TOKENS}` },
    },
    ['ref'],
  );
}

/** The first name that no tool of the caller's has; undefined if all are taken. */
export function freeName<Name extends string>(
  names: readonly Name[],
  taken: ReadonlySet<string>,
): Name | undefined {
  return names.find((name) => !taken.has(name));
}

/** The result where a part of a content, or all of it, is empty. */
export const NOTHING = '(nothing)';

/** Lines around each match of `grep`. */
const GREP_CONTEXT = '2';

/** The part of a content that a call asks for; undefined if it asks for all of it. */
export function queryOf(asked: Retrieve): Result<Query | undefined, QueryFault> {
  return parseQuery((name) => {
    if (name === 'context') return asked.grep === undefined ? undefined : GREP_CONTEXT;
    return { lines: asked.lines, grep: asked.grep, path: asked.path }[name];
  });
}

/** Models send numbers as strings, too. */
const schema = z
  .object({
    ref: z.string(),
    lines: optionalText,
    grep: optionalText,
    path: optionalText,
    max_tokens: z.coerce.number().nullish(),
  })
  .transform(({ max_tokens, ...rest }) => ({
    ...rest,
    maxTokens: Math.min(Math.max(1, Math.floor(max_tokens || DEFAULT_TOKENS)), MOST_TOKENS),
  }));

export type Retrieve = Readonly<z.output<typeof schema>>;

export function readArguments(json: string): Result<Retrieve, string> {
  const form = '{"ref": "ref_…"}, and lines, grep, path or max_tokens if a part will do';
  return parseArguments(json, schema, form);
}
