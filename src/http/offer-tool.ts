/** Whether a request is given the tool that fetches what was removed (design §3). */
import { type MemoryStrategy, retrieves } from '../memory/strategy.ts';
import type { ChatRequest } from '../protocol/chat.ts';
import { hasTools, takesTool, toolNames } from '../protocol/chat-tools.ts';
import { definitionOf, freeName, type ToolName } from '../retrieval/tool.ts';
import type { Tenant } from '../storage/tenant.ts';

export interface OfferedTool {
  readonly name: ToolName;
  /** The definition: the same bytes on every request, since it stands before the messages in the upstream's cache. */
  readonly json: string;
}

/**
 * The tool for a request. It depends on strategy, tools and key alone, never on what the conversation holds by now: a list of tools that
 * comes and goes would break the cached prefix.
 *
 * @returns `off` where the strategy asks for the tool and the request can't have it: several choices would each have rounds of their own
 */
export function offerTool(
  request: ChatRequest,
  strategy: MemoryStrategy,
  tenant: Tenant | undefined,
): OfferedTool | 'off' | undefined {
  if (!retrieves(strategy, hasTools(request)) || !tenant) return undefined;
  const choices = request.field('n') ?? 1;
  const name = choices === 1 && takesTool(request) ? freeName(toolNames(request)) : undefined;
  return name ? { name, json: JSON.stringify(definitionOf(name)) } : 'off';
}
