/**
 * Memory blocks in the view (docs/memory-blocks.md): one message after the preamble. They are
 * frozen at a point of the array that only moves with the frontier, so that the cached prefix
 * holds.
 *
 * Their key is a label and the hash of the messages before the frontier. It follows from the array,
 * like the frontier itself, so an isolate that remembers it never shows less than another one that
 * has seen a move, and a request that is repeated shows the same bytes. A hash of the opening names
 * many conversations, so there the first key belongs to the second request. Conversations have no
 * setting for blocks: a view is planned while settings are read, and counts the tools.
 */
import { elementAt } from '../lib/elements.ts';
import { once } from '../lib/once.ts';
import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { requestLength } from '../memory/conversation/first-requests.ts';
import { prefixHashes } from '../memory/conversation/prefix-hash.ts';
import { measureOf } from '../memory/models/facts.ts';
import type { Report, ReportedBlock, Warning } from '../memory/plan/report.ts';
import {
  type BlocksRequest,
  type MemoryBlock,
  writeBlock,
  writeBlocks,
} from '../memory/strategy/memory-blocks.ts';
import type { InjectedMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { conversationOfCall } from '../request/conversation.ts';
import { ApiError } from '../request/errors.ts';
import { TenantBlocks } from '../request/memory-blocks.ts';
import { hashesKey } from '../storage/conversation/remembered.ts';
import { recall } from '../storage/recall.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex, type Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { MadeView } from './made-view.ts';

interface ShownBlocks {
  readonly message?: InjectedMessage;
  /** Of the message. */
  readonly tokens?: number;
  readonly blocks?: readonly ReportedBlock[];
  readonly warnings: readonly Warning[];
}

const NOTHING: ShownBlocks = { warnings: [] };

/** Why a request gets no memory blocks, although it asks for some. */
export function blocksObstacle({ request, scope }: Call): Warning | undefined {
  if (request.tooManyMessages) return 'too_many_messages';
  if (request.upstreamState !== undefined) return 'upstream_state';
  return scope.caller.tenant ? undefined : 'no_tenant';
}

/** The blocks for the view of a request. @param made the view without them */
export async function blocksFor(call: Call, made: MadeView): Promise<ShownBlocks> {
  const { request, chosen, owner, scope } = call;
  const { blocks: requested } = chosen;
  const { tenant } = scope.caller;
  if (!requested || owner.off.length > 0) return NOTHING;
  const obstacle = blocksObstacle(call);
  if (obstacle) return { warnings: [obstacle] };
  if (!tenant) return NOTHING;
  try {
    const measure = measureOf(request.model, undefined, scope.services.config.tokenFactors);
    const { counter } = await scope.caches.counting(measure);
    const blocks = await scope.timings.measure('store', () =>
      within(TIME_LIMITS.memoryReadMs, blocksOf({ call, requested, tenant, made })),
    );
    const content = writeBlocks(blocks);
    return {
      message: { role: requested.role, content },
      tokens: counter.text(content),
      blocks: blocks.map((block) => ({
        label: block.label,
        version: block.version,
        tokens: counter.text(writeBlock(block)),
      })),
      warnings: [],
    };
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'memory blocks could not be read', error);
    return { warnings: ['store_failed'] };
  }
}

export function withBlocks(report: Report, { tokens, blocks, warnings }: ShownBlocks): Report {
  const shown = blocks && tokens !== undefined ? { memory_blocks: { tokens, blocks } } : {};
  return { ...report, ...shown, warnings: [...new Set([...report.warnings, ...warnings])] };
}

/** What the blocks of a view are read for. */
interface BlocksFacts {
  readonly call: Call;
  readonly requested: BlocksRequest;
  readonly tenant: Tenant;
  readonly made: MadeView;
}

/** In the order of the request. @throws if storage fails */
async function blocksOf(of: BlocksFacts): Promise<readonly MemoryBlock[]> {
  const { labels, refresh } = of.requested;
  // Undefined before it has a name: nothing can be frozen yet.
  const stored = conversationOfCall(of.call);
  const point = once(() => pointOf(of));
  const known = stored && !refresh ? await frozenBlocks(of, stored, point) : [];
  const missing = labels.filter((label) => !known.some((block) => block.label === label));
  const read = missing.length > 0 ? await newest(of, missing) : [];
  const frozen = stored && read.length > 0 ? await freeze(stored, point(), read, refresh) : read;
  const byLabel = new Map([...known, ...frozen].map((block) => [block.label, block]));
  return labels.flatMap((label) => byLabel.get(label) ?? []);
}

/**
 * The point at which the blocks are frozen: the hash of the messages before the frontier. Before
 * its first move it is the hash of the messages of the first request whose conversation has a
 * name, which without an id is the second one. A longer opening also separates conversations that
 * begin in the same way. All requests of an array agree on the point, and nobody is asked for it.
 */
function pointOf({ call, made }: BlocksFacts): string {
  const { messages } = call.request;
  const { history, report } = made;
  const { unit } = report.frontier;
  const isNamed = call.owner.conversation !== undefined;
  const end =
    unit > 0
      ? (history?.units[unit]?.first ?? messages.length)
      : requestLength(messages, isNamed ? 'first' : 'second');
  const before = messages.slice(0, end);
  return elementAt(prefixHashes(before, sha256Hex), before.length);
}

/** Those that are frozen. */
async function frozenBlocks(
  { call, requested: { labels } }: BlocksFacts,
  { name, memory, remembered }: StoredConversation,
  point: () => string,
): Promise<readonly MemoryBlock[]> {
  const blocks = await recall({
    known: remembered.of('blocks'),
    keys: labels.map((label) => hashesKey(label, point())),
    upkeep: call.scope.upkeep.of(name),
    ask: async () => {
      const frozen = await memory((stub) => stub.frozenBlocks.at(point(), labels));
      return labels.map((label) => frozen.find((block) => block.label === label));
    },
  });
  return blocks.filter((block) => block !== undefined);
}

/** The newest versions. A label without a block has an empty one. */
async function newest(
  { call: { scope }, tenant }: BlocksFacts,
  labels: readonly string[],
): Promise<readonly MemoryBlock[]> {
  // Nothing can be frozen yet, and blocks that are not frozen would come and go.
  if (!(await scope.mayStore(tenant)))
    throw new ApiError('invalid_api_key', 'It is not known whether the key is accepted.');
  const blocks = await new TenantBlocks(tenant, scope.services).read(labels);
  return labels.map((label) => {
    const { version, text } = blocks.find((block) => block.label === label) ?? { version: 0, text: '' };
    return { label, version, text };
  });
}

async function freeze(
  { memory, remembered }: StoredConversation,
  point: string,
  blocks: readonly MemoryBlock[],
  replaces: boolean,
): Promise<readonly MemoryBlock[]> {
  const at = Date.now();
  const frozen = await memory((stub) => stub.frozenBlocks.freeze(point, blocks, replaces));
  for (const block of frozen) remembered.of('blocks').keep(hashesKey(block.label, point), block, at);
  return frozen;
}
