/**
 * The tool with which a model finds contents that its view no longer names: definition, arguments,
 * results.
 */
import * as z from 'zod';
import { firstLine } from '../lib/characters.ts';
import type { Result } from '../lib/result.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import { type FunctionTool, functionTool } from '../protocol/tools.ts';
import {
  CONVERSATION_PROPERTIES,
  conversationNames,
  optionalText,
  parseArguments,
  withConversation,
} from './arguments.ts';
import { shorten } from './shorten.ts';

/** The tool's names. The second is for callers with a tool of the first name. */
export const LIST_NAMES = ['list_refs', 'precis_list_refs'] as const;

type ListName = (typeof LIST_NAMES)[number];

/** Largest result, in contents and in tokens. */
export const MOST_LISTED = 30;
const MOST_TOKENS = 2_000;

/** In characters. */
const LONGEST_LINE = 120;

const PROPERTIES = {
  query: { type: 'string', description: 'text in them' },
  tool: { type: 'string' },
} as const;

export function listDefinitionOf(name: ListName): FunctionTool<ListName> {
  return functionTool(name, 'Lists the refs of removed tool outputs, the latest first.', PROPERTIES, []);
}

/** For clients without a conversation, which name the one to list. */
export function listConversationDefinition(): FunctionTool<ListName> {
  return functionTool(
    'list_refs',
    `Lists contents that were removed from a conversation, with their refs; ${MOST_LISTED} at most.`,
    { ...PROPERTIES, ...CONVERSATION_PROPERTIES },
    [],
  );
}

const schema = z
  .object({ query: optionalText, tool: optionalText, ...conversationNames })
  .transform(withConversation);

/** The arguments of a call: which contents it asks for. */
export type RefFilter = Readonly<z.output<typeof schema>>;

export function readList(json: string): Result<RefFilter, string> {
  return parseArguments(json || '{}', schema, '{}, or query or tool as strings');
}

export interface Listable {
  readonly ref: string;
  readonly tool: string;
  readonly callId: string;
  readonly tokens: number;
  readonly text: string;
  /** Whether the ref names a transcript, which holds the content among others. */
  readonly within?: boolean;
}

export function isWanted({ tool, text }: Pick<Listable, 'tool' | 'text'>, filter: RefFilter): boolean {
  if (filter.tool !== undefined && filter.tool !== tool) return false;
  return filter.query === undefined || text.toLowerCase().includes(filter.query.toLowerCase());
}

interface Looked {
  /** Transcripts of messages that are not listed, newest first. */
  readonly transcripts?: readonly string[];
  /** Contents that were asked for and not found. */
  readonly unfound?: number;
  /** Whether there are contents that were not looked at. */
  readonly unlooked?: boolean;
}

/**
 * One line for each content: ref, tool, call, tokens, and how it begins. Notes say what is not
 * listed.
 *
 * @param listed the latest first
 */
export function describeRefs(
  listed: readonly Listable[],
  counter: Pick<TokenCounter, 'text'>,
  { transcripts = [], unfound = 0, unlooked = false }: Looked = {},
): string {
  if (listed.length === 0) return nothingListed(transcripts, unfound, unlooked);
  const lines = listed
    .slice(0, MOST_LISTED)
    .map(
      ({ ref, tool, callId, tokens, text, within }) =>
        `${ref} ${tool} (call_id=${callId}), ${tokens} tokens${within ? WITHIN : ''}: ${firstLine(text, LONGEST_LINE)}`,
    );
  const { text, isCut } = shorten(lines.join('\n'), MOST_TOKENS, counter);
  const notes = [
    ...(isCut || listed.length > MOST_LISTED ? [CUT] : []),
    ...(unfound > 0 ? [`[${unfound} more are in earlier transcripts, or no longer kept]`] : []),
    ...(unlooked ? ['[there are others, which were not looked at]'] : []),
  ];
  return notes.length === 0 ? text : [text.trimEnd(), ...notes].join('\n');
}

const CUT = '[cut here; ask for a text or a tool, so that less is listed]';

/** After the tokens of a content that has no ref of its own. */
const WITHIN = ', inside this transcript (use grep)';

function nothingListed([newest]: readonly string[], unfound: number, unlooked: boolean): string {
  if (newest !== undefined && unfound > 0)
    return `${unfound} are in transcripts before ${newest}, or no longer kept. Each transcript names the one before it.`;
  if (unlooked) return 'Nothing of the kind is among those that were looked at, and there are others.';
  const nothing = 'Nothing of the kind was removed';
  if (newest === undefined) return `${nothing}. Try another text or tool, or none.`;
  return `${nothing} from the messages of this request. Earlier ones are in the transcript ${newest}: look there with grep, or try another text or tool, or none.`;
}
