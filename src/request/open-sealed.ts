/**
 * Looks for our items before anything else is read. Compaction items are opened: from then on their
 * contents are ordinary messages (docs/responses-api.md#compactions). Marked reasoning is removed,
 * as if it had never been there.
 */
import { elementAt } from '../lib/elements.ts';
import { MOST_MESSAGES, type ModelRequest } from '../protocol/model-request.ts';
import type { Protocol } from '../protocol/protocol.ts';
import { openedBody, otherProtocolOf, ownItemsIn, type Sealed } from '../protocol/sealed.ts';
import type { Tenant } from '../tenant/identity.ts';
import { type ItemOwner, isSealed, openCompaction, SEALED_PREFIX } from '../tenant/sealed-item.ts';
import { ApiError } from './errors.ts';

/** Compaction items in a body. One replaces all of a past, so clients send one or two. */
const MOST_ITEMS = 64;

/**
 * The body with its compaction items replaced by their contents and its marked reasoning removed;
 * undefined if it has neither.
 *
 * @param owner the request's owner; called only if there is a compaction item
 * @param from where to begin; no item before it is Precis's
 * @throws ApiError `invalid_encrypted_content` for an item that can't be opened, or for too many
 */
export async function openSealed(
  { bytes, conversationField, protocol }: ModelRequest,
  tenant: Tenant | undefined,
  owner: () => ItemOwner,
  from = 0,
): Promise<Uint8Array | undefined> {
  const ours = { prefix: SEALED_PREFIX, isWhole: isSealed };
  const own = ownItemsIn(bytes, conversationField, ours, MOST_MESSAGES, from);
  const { sealed, cuts } = own;
  if (sealed.length === 0) return cuts.length === 0 ? undefined : openedBody(bytes, own, []);
  const tooMany = sealed[MOST_ITEMS];
  if (tooMany) throw tooManyItems(tooMany.param);
  const of = owner();
  const contents: string[] = [];
  // Anyone can send forged items, so the first that does not open is the last that is tried.
  for (const item of sealed) contents.push(await opened(item, tenant, of));
  for (const [index, { param }] of sealed.entries()) {
    const maker = otherProtocolOf(elementAt(contents, index), protocol);
    if (maker) throw otherProtocol(param, maker, protocol);
  }
  return openedBody(bytes, own, contents);
}

function tooManyItems(param: string): ApiError {
  return new ApiError(
    'invalid_encrypted_content',
    `A body can hold at most ${MOST_ITEMS} compaction items; the one in ${param} is one too many. Compact the conversation again: the new item replaces all before it.`,
    param,
  );
}

const NAMES: Readonly<Record<Protocol, string>> = {
  chat: 'chat completions',
  responses: 'the Responses API',
  messages: 'the Messages API',
};

function otherProtocol(param: string, maker: Protocol, here: Protocol): ApiError {
  return new ApiError(
    'invalid_encrypted_content',
    `The compaction item in ${param} was made by ${NAMES[maker]}, and holds tool calls, results or parts that have another form in ${NAMES[here]}: send it to the API that made it, or compact the conversation again here.`,
    param,
  );
}

async function opened(
  { text, param }: Sealed,
  tenant: Tenant | undefined,
  owner: ItemOwner,
): Promise<string> {
  const content = tenant && (await openCompaction(tenant, owner, text));
  if (content !== undefined) return content;
  throw new ApiError(
    'invalid_encrypted_content',
    `The compaction item in ${param} can't be opened: it must be sent back unchanged, with the API key under which it was made, and with the user and the conversation that were named then.`,
    param,
  );
}
