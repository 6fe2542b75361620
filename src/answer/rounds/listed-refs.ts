/** Lists the tool outputs of a request that its view does not show, for `list_refs`. */
import { AT_ONCE, fewAtOnce } from '../../lib/slots.ts';
import { within } from '../../lib/time-limit.ts';
import { logCaught } from '../../log.ts';
import { readHistory, type Unit } from '../../memory/conversation/history.ts';
import type { Message } from '../../memory/conversation/message.ts';
import type { Entry } from '../../memory/conversation/passage.ts';
import { refOfBlock } from '../../memory/conversation/session-summary.ts';
import { outputRef } from '../../memory/edits/compact.ts';
import { hostedRef } from '../../memory/edits/hosted.ts';
import { NO_CALL, parseMarker, TEXT_OBSERVATION } from '../../memory/edits/placeholder.ts';
import type { Removal } from '../../memory/edits/removal.ts';
import type { TokenCounter } from '../../memory/tokens/tokens.ts';
import type { Call } from '../../request/call.ts';
import { describeRefs, isWanted, type Listable, MOST_LISTED, readList } from '../../retrieval/list-refs.ts';
import { STORAGE_FAILED } from '../../retrieval/shelf.ts';
import { RefStore, storesOf, storesWith } from '../../storage/refs/store.ts';
import { parseTranscriptHead } from '../../summary/kept-transcript.ts';
import { outputEntry } from '../../summary/text/entries.ts';
import { beginningOf, textIn } from '../../summary/text/transcript.ts';
import { readFromEither, type Tenant } from '../../tenant/identity.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { MadeView } from '../../view/made-view.ts';

/** How many refs are looked for in storage before a list is cut. */
const MOST_LOOKED = 4 * MOST_LISTED;

/**
 * The result of a model's call. Refs follow from the request's own array, so nothing of another
 * conversation can be listed. An output that left with its message is listed if it is stored, by
 * itself or in a transcript that the view names. Never throws.
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
  const wanted = units
    .toReversed()
    .flatMap((unit) => hiddenIn(unit, request.messages, view))
    .filter((output) => isWanted(output, read.value));
  const hidden = wanted.slice(0, MOST_LOOKED).map((output) => listableOf(output, tenant, counter));
  try {
    const stores = storesOf(scope.services.bucket, tenant);
    const isStored = async (ref: string): Promise<boolean> => (await storesWith(ref, stores)).length > 0;
    const read = async (ref: string): Promise<string | undefined> => {
      try {
        const fetched = await readFromEither(tenant, (tenant) =>
          new RefStore(scope.services.bucket, tenant).get(ref),
        );
        return fetched && new TextDecoder().decode(fetched.content);
      } catch (error) {
        logCaught(scope.services.log, 'warn', 'a transcript could not be read for a list of refs', error);
        return undefined;
      }
    };
    const transcripts = transcriptsOf(view, history);
    const look = async (): Promise<Listable[]> => {
      const stored = await fewAtOnce(
        AT_ONCE,
        hidden,
        async (one) => one.isShown || (await isStored(one.ref)),
      );
      const others = hidden.filter((_, index) => !stored[index]);
      const held = await findInTranscripts(
        others.map(({ entry }) => entry),
        transcripts,
        read,
      );
      return hidden.flatMap((one, index) => {
        if (stored[index]) return [one];
        const ref = held.get(one.entry);
        return ref === undefined ? [] : [{ ...one, ref, within: true }];
      });
    };
    const looked = await within(TIME_LIMITS.toolStorageMs, look());
    const unfound = hidden.length - looked.length;
    return describeRefs(looked, counter, { transcripts, unfound, unlooked: wanted.length > hidden.length });
  } catch (error) {
    logCaught(scope.services.log, 'warn', 'refs could not be listed for a model', error);
    return STORAGE_FAILED;
  }
}

/** The transcripts that a view names, newest first. */
function transcriptsOf(view: MadeView['view'], history: MadeView['history']): string[] {
  const refs = [view?.trim?.kept?.ref, view?.summary && refOfBlock(view.summary.block), history?.echo?.ref];
  return [...new Set(refs.filter((ref) => ref !== undefined))];
}

/** An output that the view does not show. */
interface HiddenOutput extends Pick<Listable, 'tool' | 'callId' | 'text'> {
  readonly message: Message;
  /** Its index among the message's hosted outputs. Absent: the content itself. */
  readonly hosted?: number;
  /** As a transcript has it. */
  readonly entry: Output;
  /** Its removal from the view, unless its message left as a whole. */
  readonly removal: Removal | undefined;
}

/** The latest first. */
function hiddenIn(unit: Unit, messages: readonly Message[], view: MadeView['view']): HiddenOutput[] {
  const outputs = unit.outputs
    .toReversed()
    .flatMap(({ message, call }) => hiddenOutput(message, call, messages, view));
  const hosted: HiddenOutput[] = [];
  for (let index = unit.last; index >= unit.first; index--)
    hosted.push(...hiddenHosted(index, messages, view));
  return [...outputs, ...hosted];
}

function hiddenHosted(index: number, messages: readonly Message[], view: MadeView['view']): HiddenOutput[] {
  const message = messages[index];
  if (!message || !view) return [];
  const outputs = (message.hosted?.() ?? []).map(
    ({ tool, id = NO_CALL, content }, hosted): HiddenOutput[] => {
      const removal = view.removals
        .get(index)
        ?.find(({ kind, call }) => kind === 'hosted' && call === hosted);
      if (!removal && !view.dropped.has(index)) return [];
      const { text, weight } = content();
      const entry = { role: 'assistant', text: weight.texts.join('\n'), isPart: true } as const;
      return [{ message, hosted, removal, entry, tool, callId: id, text }];
    },
  );
  return outputs.toReversed().flat();
}

function hiddenOutput(
  index: number,
  made: { readonly id: string; readonly name: string } | undefined,
  messages: readonly Message[],
  view: MadeView['view'],
): HiddenOutput[] {
  const message = messages[index];
  if (!message || !view) return [];
  const removal = view.removals.get(index)?.find(({ kind }) => kind === 'output');
  if (!removal && !view.dropped.has(index)) return [];
  const { text } = message.content();
  const entry = outputEntry(message, made);
  const [tool, callId] = [made?.name ?? TEXT_OBSERVATION, made?.id ?? NO_CALL];
  return [{ message, removal, entry, tool, callId, text }];
}

/** The output with its ref and tokens. `isShown`: the ref is in the view, so it is stored. */
function listableOf(
  { message, hosted, removal, ...named }: HiddenOutput,
  { refs }: Tenant,
  counter: TokenCounter,
): Listable & Pick<HiddenOutput, 'entry'> & { readonly isShown: boolean } {
  if (removal?.ref !== undefined)
    return { ...named, ref: removal.ref, tokens: removal.tokens, isShown: true };
  // The caller may have sent one of Precis's placeholders.
  const marker = parseMarker(named.text);
  const own = marker?.ref !== undefined && refs.owns(marker.ref) ? marker : undefined;
  if (own?.ref !== undefined)
    return { ...named, ref: own.ref, tokens: own.tokens ?? counter.text(named.text), isShown: false };
  if (hosted !== undefined)
    return {
      ...named,
      ref: hostedRef(message, hosted, named.text, refs),
      tokens: counter.text(named.text),
      isShown: false,
    };
  return { ...named, ref: outputRef(message, refs), tokens: counter.content(message), isShown: false };
}

/** How many transcripts are read; each names the one before it. */
const MOST_READ = 8;

/** In characters. The beginning of an output that is looked for, after its tool and call. */
const LOOKED_FOR = 1_000;

/** An output, as a transcript would have it. */
export interface Output extends Pick<Entry, 'role' | 'tool' | 'text'> {
  /** Whether it is a part of an answer, and so has no entry of its own. */
  readonly isPart?: true;
}

/**
 * The transcript of each output that only the one of a summary or of trimmed messages holds, newest
 * first.
 *
 * @param refs of the transcripts that the view names, newest first
 * @param read the text of a ref; undefined if it is gone. @throws if storage fails
 */
export async function findInTranscripts<Looked extends Output>(
  outputs: readonly Looked[],
  refs: readonly string[],
  read: (ref: string) => Promise<string | undefined>,
): Promise<ReadonlyMap<Looked, string>> {
  const found = new Map<Looked, string>();
  const looked = new Set<string>();
  let left = outputs.filter(({ text }) => text.trim() !== '');
  for (let waiting = [...refs]; waiting.length > 0 && left.length > 0; ) {
    const ref = waiting.shift() ?? '';
    if (looked.has(ref)) continue;
    if (looked.size === MOST_READ) break;
    looked.add(ref);
    const transcript = await read(ref);
    if (transcript === undefined) continue;
    for (const output of left) {
      const begins = output.isPart ? textIn(output.text, LOOKED_FOR) : beginningOf(output, LOOKED_FOR);
      if (transcript.includes(begins)) found.set(output, ref);
    }
    left = left.filter((output) => !found.has(output));
    const { earlier } = parseTranscriptHead(transcript);
    if (earlier !== undefined) waiting = [earlier, ...waiting];
  }
  return found;
}
