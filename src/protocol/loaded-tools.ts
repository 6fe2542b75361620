/**
 * Tools whose definitions the model gets only once something in the conversation has loaded them: a
 * reference in a result, an output of a search for tools, the listing of an MCP server
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool,
 * https://developers.openai.com/api/docs/guides/tools-tool-search). While the request has such a
 * tool, what has loaded it is no text: without it, the model can no longer call the tool.
 */
import { asObject, asObjects, asString, isObject } from '../lib/json.ts';
import { once } from '../lib/once.ts';

/** The name of all tools of an MCP server. */
const ofServer = (label: unknown): string => `mcp:${asString(label)}`;

/** The names of what an element loads; empty if it loads nothing. */
export function loadedBy(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(loadedBy);
  if (!isObject(value)) return [];
  const { type, tool_name, mcp_server_name, server_label, tools, content, tool_references } = value;
  if (type === 'tool_reference') return [asString(tool_name)];
  if (type === 'mcp_tool_listing') return [ofServer(mcp_server_name)];
  if (type === 'mcp_list_tools') return [ofServer(server_label)];
  if (type === 'tool_search_output') return namesIn(tools);
  return [content, tool_references].flatMap(loadedBy);
}

/** Types of which one is in everything that loads a tool. */
export const LOADING: readonly string[] = [
  ...['tool_reference', 'mcp_tool_listing', 'mcp_list_tools', 'tool_search_output'],
];

/** Names of tools, and of the tools inside them. @param tools a list; anything else has no names */
export function namesIn(tools: unknown): string[] {
  return asObjects(tools).flatMap(({ name, tools: inner }) => [
    ...(typeof name === 'string' ? [name] : []),
    ...namesIn(inner),
  ]);
}

/** Whether a request has one of these tools, and it must be loaded. */
export type NeedsLoading = (loaded: readonly string[]) => boolean;

/** @param read the tools of the request. They are read when somebody asks */
export function loadingOf(read: () => readonly unknown[]): NeedsLoading {
  const known = once(() => {
    const tools = read().map(asObject);
    // All that are defined, if a tool defers others, whose names are not in the request.
    const defined = tools.some(defersOthers) ? new Set(namesIn(tools)) : undefined;
    return { deferred: new Set(tools.flatMap(deferredIn)), defined };
  });
  return (loaded) => {
    const { deferred, defined } = known();
    return loaded.some((name) => deferred.has(name) || defined?.has(name) === false);
  };
}

function deferredIn(tool: Readonly<Record<string, unknown>>): string[] {
  if (tool.type === 'mcp_toolset') return [ofServer(tool.mcp_server_name)];
  if (tool.type === 'mcp') return [ofServer(tool.server_label)];
  if (tool.type === 'namespace') {
    const inside = asObjects(tool.tools).flatMap(deferredIn);
    return inside.length > 0 ? [asString(tool.name), ...inside] : [];
  }
  return tool.defer_loading === true ? [asString(tool.name)] : [];
}

/** Whether a tool is a placeholder for others whose names are known once they are loaded. */
function defersOthers({
  type,
  execution,
  defer_loading,
  default_config,
  configs,
}: Readonly<Record<string, unknown>>) {
  if (type === 'tool_search') return execution === 'client';
  if (type === 'mcp') return defer_loading === true;
  const all = [default_config, ...Object.values(asObject(configs))];
  return type === 'mcp_toolset' && all.some((config) => asObject(config).defer_loading === true);
}
