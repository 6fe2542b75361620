/**
 * Which of our tools a request gets: those that fetch and list removed contents, and the one that
 * searches the archive (docs/design.md#the-strategy).
 */
import type { ActingStrategy } from '../memory/modes/table.ts';
import { hidesRefs, retrieves } from '../memory/strategy/strategy.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { LIST_NAMES, listDefinitionOf } from '../retrieval/list-refs.ts';
import { SEARCH_NAMES, searchDefinitionOf } from '../retrieval/search-memory.ts';
import { definitionOf, freeName, RETRIEVE_NAMES } from '../retrieval/tool.ts';
import type { Tenant } from '../tenant/identity.ts';

/**
 * The most tools in a request (https://platform.openai.com/docs/api-reference/chat/create,
 * `tools`).
 */
const MOST_TOOLS = 128;

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
  /**
   * The definitions. Their bytes are the same on every request, since they precede the messages in
   * the upstream's cache.
   */
  readonly definitions: readonly string[];
}

/**
 * The tools for a request. They depend on strategy, tools and key alone, and never on the
 * conversation: a list of tools that changes would break the cached prefix.
 *
 * @returns `off` if the strategy asks for them and the request can't have them all, since upstreams
 *   refuse too many tools
 */
export function offerTools(
  request: ModelRequest,
  strategy: ActingStrategy,
  tenant: Tenant | undefined,
): OfferedTools | 'off' | undefined {
  if (!retrieves(strategy, request.hasTools) || !tenant) return undefined;
  if (!request.takesTools) return 'off';
  const taken = request.toolNames;
  const retrieve = freeName(RETRIEVE_NAMES, taken);
  const search = strategy.archive ? freeName(SEARCH_NAMES, taken) : undefined;
  const list = hidesRefs(strategy) ? freeName(LIST_NAMES, taken) : undefined;
  if (!retrieve) return 'off';
  const definitions = [
    definitionOf(retrieve),
    ...(list ? [listDefinitionOf(list)] : []),
    ...(search ? [searchDefinitionOf(search)] : []),
  ];
  if ((request.tools?.count ?? 0) + definitions.length > MOST_TOOLS) return 'off';
  return {
    rounds: strategy.retrieval_max_rounds,
    retrieves: true,
    names: new Set(definitions.map((definition) => definition.function.name)),
    search,
    list,
    definitions: definitions.map((definition) => request.toolJson(definition)),
  };
}
