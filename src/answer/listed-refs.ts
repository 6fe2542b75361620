/** Lists the tool outputs of a request that its view does not show, for `list_refs`. */
import { AT_ONCE, fewAtOnce } from '../lib/slots.ts';
import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { readHistory, TEXT_OBSERVATION } from '../memory/conversation/history.ts';
import { outputRef } from '../memory/edits/compact.ts';
import { parseMarker } from '../memory/edits/placeholder.ts';
import type { TokenCounter } from '../memory/tokens/tokens.ts';
import type { Call } from '../request/call.ts';
import { describeRefs, isWanted, type Listable, MOST_LISTED, readList } from '../retrieval/list-refs.ts';
import { RefStore } from '../storage/refs/store.ts';
import { selvesOf, type Tenant } from '../tenant/identity.ts';
import type { MadeView } from '../view/made-view.ts';

/** How many refs are looked for in storage before a list is cut. */
const MOST_LOOKED = 4 * MOST_LISTED;

/** How long a model waits for that, in milliseconds. */
const LIST_LIMIT_MS = 5_000;

/**
 * The result of a model's call. Refs follow from the request's own array, so nothing of another
 * conversation can be listed. An output that left with its message is listed if it is stored. Never
 * throws.
 *
 * @param args as the model wrote them
 */
export async function answerList(
  args: string,
  { view, history }: Pick<MadeView, 'view' | 'history'>,
  call: Call,
  tenant: Tenant,
  counter: TokenCounter,
): Promise<string> {
  const read = readList(args);
  if (!read.ok) return read.reason;
  const { request, scope } = call;
  const { units } = history ?? readHistory(request.messages);
  const hidden = units
    .flatMap(({ outputs }) => outputs)
    .toReversed()
    .flatMap((output) => hiddenOutput(output.message, output.call, { view, call, tenant, counter }))
    .filter((listable) => isWanted(listable, read.value));
  try {
    const stores = selvesOf(tenant).map((self) => new RefStore(scope.services.bucket, self));
    const isStored = async (ref: string): Promise<boolean> =>
      (await Promise.all(stores.map((store) => store.has(ref)))).includes(true);
    const looked = await within(
      LIST_LIMIT_MS,
      fewAtOnce(AT_ONCE, hidden.slice(0, MOST_LOOKED), async (listable) =>
        listable.isShown || (await isStored(listable.ref)) ? [listable] : [],
      ),
    );
    return describeRefs(looked.flat().slice(0, MOST_LISTED), counter);
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'refs could not be listed for a model', error);
    return 'Storage does not answer at the moment. Go on without it, and say so if it matters.';
  }
}

interface Listing {
  readonly view: MadeView['view'];
  readonly call: Call;
  readonly tenant: Tenant;
  readonly counter: TokenCounter;
}

/** An output that the view does not show. `isShown`: its ref is in the view, so it is stored. */
function hiddenOutput(
  index: number,
  made: { readonly id: string; readonly name: string } | undefined,
  { view, call, tenant, counter }: Listing,
): (Listable & { readonly isShown: boolean })[] {
  const message = call.request.messages[index];
  if (!message || !view) return [];
  const removal = view.removals.get(index)?.find(({ kind }) => kind === 'output');
  const isDropped = view.dropped.has(index);
  if (!removal && !isDropped) return [];
  const { text } = message.content();
  const named = { tool: made?.name ?? TEXT_OBSERVATION, callId: made?.id ?? 'none', text };
  if (removal?.ref !== undefined)
    return [{ ...named, ref: removal.ref, tokens: removal.tokens, isShown: true }];
  // The caller may have sent a placeholder of ours.
  const marker = parseMarker(text);
  const own = marker?.ref !== undefined && tenant.refs.owns(marker.ref) ? marker : undefined;
  const ref = own?.ref ?? outputRef(message, tenant.refs);
  return [{ ...named, ref, tokens: own?.tokens ?? counter.content(message), isShown: false }];
}
