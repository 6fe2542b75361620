/**
 * Which of our tools a request gets: those that fetch and list removed contents, the one that
 * searches the archive (docs/refs-and-retrieval.md#retrieval), and those that write memory blocks.
 *
 * It depends only on strategy, tools, key and the labels of writable blocks, never on the
 * conversation, since a changing list of tools would break the cached prefix.
 */
import { FETCH_NAMES } from '../memory/edits/repeats.ts';
import { retrieves } from '../memory/modes/strategy.ts';
import { type ActingStrategy, modeOf, type RetrievingStrategy } from '../memory/modes/table.ts';
import type { UserArchiveScope } from '../memory/strategy/fields.ts';
import type { BlocksRequest } from '../memory/strategy/memory-blocks.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { calledName, type FunctionTool } from '../protocol/tools.ts';
import { INSERT_NAMES, insertDefinitionOf } from '../retrieval/insert-passage.ts';
import { LIST_NAMES, listDefinitionOf } from '../retrieval/list-refs.ts';
import { SEARCH_NAMES, type SearchKind, searchDefinitionOf } from '../retrieval/search-memory.ts';
import { definitionOf, freeName } from '../retrieval/tool.ts';
import {
  APPEND_NAMES,
  appendDefinitionOf,
  REPLACE_NAMES,
  replaceDefinitionOf,
  WRITING_ROUNDS,
} from '../retrieval/write-blocks.ts';
import type { Tenant } from '../tenant/identity.ts';

/**
 * The most tools in a request (https://platform.openai.com/docs/api-reference/chat/create,
 * `tools`).
 */
const MOST_TOOLS = 128;

interface OfferedBlockTools {
  /** Their names. */
  readonly append: string;
  readonly replace: string;
  /** The blocks that they write. */
  readonly labels: readonly string[];
}

export interface OfferedTools {
  /** How often the upstream is asked again at most. */
  readonly rounds: number;
  /** Whether the model can fetch removed contents. */
  readonly retrieves: boolean;
  /** Their names, changed if the caller's tools already use them. */
  readonly names: ReadonlySet<string>;
  /** The name of the search tool. Absent without an archive. */
  readonly search: string | undefined;
  /** The name of the tool that lists refs. Absent in modes whose views name all of them. */
  readonly list: string | undefined;
  /** The name of the tool that keeps passages. Absent where the model may keep none. */
  readonly insert: string | undefined;
  /** Whether the search reaches the other conversations of the user. */
  readonly reachesUser: boolean;
  /** The tools that write memory blocks. Absent where the model may write none. */
  readonly blocks: OfferedBlockTools | undefined;
  /**
   * The definitions. Their bytes are the same on every request, since they precede the messages in
   * the upstream's cache.
   */
  readonly definitions: readonly string[];
}

/**
 * The tools for a request.
 *
 * @param strategy the one that acts
 * @param searches what the deployment's searches go by
 * @param user what the model may reach of its user's other conversations; undefined: nothing
 * @returns `off` if the request asks for them and can't have those that fetch or write: it takes no
 *   tools, has tools of their names, or would have too many for its upstream
 */
export function offerTools(
  request: ModelRequest,
  strategy: ActingStrategy,
  tenant: Tenant | undefined,
  searches: SearchKind,
  blocks?: BlocksRequest,
  user?: UserArchiveScope,
): OfferedTools | 'off' | undefined {
  const retrieves = retrieving(strategy, request.hasTools);
  const writes = blocks?.writable === true;
  if ((!retrieves && !writes) || !tenant) return undefined;
  if (!request.takesTools) return 'off';
  // A call of either would be the same.
  const taken = new Set([...request.toolNames].map(calledName));
  const retrieval = retrieves ? retrievalTools(retrieves, taken, searches, user) : NO_RETRIEVAL;
  const writing = writes ? blockTools(blocks.labels, taken) : NO_WRITING;
  if (!retrieval || !writing) return 'off';
  const definitions = [...retrieval.definitions, ...writing.definitions];
  if ((request.tools?.count ?? 0) + definitions.length > MOST_TOOLS) return 'off';
  return {
    rounds: retrieves ? retrieves.retrieval_max_rounds : WRITING_ROUNDS,
    retrieves: retrieves !== undefined,
    names: new Set(definitions.map((definition) => definition.function.name)),
    search: retrieval.search,
    list: retrieval.list,
    insert: retrieval.insert,
    reachesUser: retrieval.reachesUser,
    blocks: writing.blocks,
    definitions: definitions.map((definition) => request.toolJson(definition)),
  };
}

/** Whether tools lack some of what the model may reach of its user's other conversations. */
export function lacksOfUser(tools: OfferedTools | undefined, user: UserArchiveScope): boolean {
  return !tools?.reachesUser || (user.writable && tools.insert === undefined);
}

function retrieving(strategy: ActingStrategy, hasTools: boolean): RetrievingStrategy | undefined {
  return retrieves(strategy, hasTools) ? strategy : undefined;
}

type RetrievalTools = Pick<OfferedTools, 'search' | 'list' | 'insert' | 'reachesUser'> & {
  readonly definitions: readonly FunctionTool[];
};

const NO_RETRIEVAL: RetrievalTools = {
  search: undefined,
  list: undefined,
  insert: undefined,
  reachesUser: false,
  definitions: [],
};

/** Undefined if the caller has taken their names. */
function retrievalTools(
  strategy: RetrievingStrategy,
  taken: ReadonlySet<string>,
  searches: SearchKind,
  user: UserArchiveScope | undefined,
): RetrievalTools | undefined {
  const retrieve = freeName(FETCH_NAMES, taken);
  const search = strategy.archive ? freeName(SEARCH_NAMES, taken) : undefined;
  const reachesUser = search !== undefined && user !== undefined;
  const insert = reachesUser && user.writable ? freeName(INSERT_NAMES, taken) : undefined;
  const list = modeOf(strategy).hidesRefs ? freeName(LIST_NAMES, taken) : undefined;
  if (!retrieve) return undefined;
  const definitions = [
    definitionOf(retrieve),
    ...(list ? [listDefinitionOf(list)] : []),
    ...(search ? [searchDefinitionOf(search, searches, reachesUser)] : []),
    ...(insert ? [insertDefinitionOf(insert)] : []),
  ];
  return { search, list, insert, reachesUser, definitions };
}

type WritingTools = Pick<OfferedTools, 'blocks'> & { readonly definitions: readonly FunctionTool[] };

const NO_WRITING: WritingTools = { blocks: undefined, definitions: [] };

/** Undefined if the caller has taken their names. */
function blockTools(labels: readonly string[], taken: ReadonlySet<string>): WritingTools | undefined {
  const append = freeName(APPEND_NAMES, taken);
  const replace = freeName(REPLACE_NAMES, taken);
  if (!append || !replace) return undefined;
  const definitions = [appendDefinitionOf(append, labels), replaceDefinitionOf(replace, labels)];
  return { blocks: { append, replace, labels }, definitions };
}
