/** Writes the output of one answer, sealed, into the object of its conversation. */
import { within } from '../../lib/time-limit.ts';
import { boundHashes, saidHashes } from '../../memory/conversation/answer-keys.ts';
import { bindsThinking, reasoningTermsOf } from '../../memory/models/past-reasoning.ts';
import type { BridgedApi } from '../../protocol/bridges/bridge.ts';
import type { ShownOutput } from '../../protocol/bridges/kept-outputs.ts';
import type { Call } from '../../request/call.ts';
import {
  type AnswerToKeep,
  LONGEST_KEPT,
  NEVER_KEPT,
  NOTHING,
  type StoredAnswer,
} from '../../storage/conversation/kept-answers.ts';
import type { StoredConversation } from '../../summary/conversation.ts';
import { sealBytes } from '../../tenant/envelope.ts';
import type { Tenant } from '../../tenant/identity.ts';

export interface Answered {
  readonly call: Call;
  readonly tenant: Tenant;
  /** Whether nothing is sent or stored. */
  readonly isDry: boolean;
  /**
   * A hash of what encrypted reasoning belongs to: the upstream of an API, the account there, the
   * family of the model, and where it is bound to them, the tools.
   */
  ownerOf(api: BridgedApi): string;
}

/** In characters: of hashes, which are compared within one conversation. */
const LENGTHS = { answer: 40, owner: 24 };

/** What distinguishes the messages that were asked, of the answers of a call. */
export function askedHashes({ request }: Pick<Call, 'request'>): typeof saidHashes {
  return bindsThinking(reasoningTermsOf(request.model)) ? boundHashes : saidHashes;
}

/** The key of a row. @param key see `saidKey` */
export function rowKeyOf({ ownerOf }: Answered, api: BridgedApi, key: string): string {
  return key.slice(0, LENGTHS.answer) + ownerOf(api).slice(0, LENGTHS.owner);
}

/** What is known of an answer that was given and not kept. */
export const NOT_KEPT: StoredAnswer = {
  id: 0,
  size: 0,
  tokens: 0,
  bytes: 0,
  blocks: 0,
  goneWith: NEVER_KEPT,
};

/** Outputs as they are stored: each in two lines, since JSON has none in it. */
export function textOfOutputs(outputs: readonly ShownOutput[]): string {
  return outputs
    .map(({ api, calls, text, whole = '', json }) => `${api} ${calls} ${text} ${whole}\n${json}\n`)
    .join('');
}

/** See `textOfOutputs`. */
export function outputsOfText(stored: string): ShownOutput[] {
  return stored.split('\n').flatMap((head, at, lines) => {
    const json = lines[at + 1];
    if (at % 2 === 1 || json === undefined) return [];
    const [api, calls = '', text = '', whole = ''] = head.split(' ');
    return { api: api as BridgedApi, calls, text, json, ...(whole === '' ? {} : { whole }) };
  });
}

/**
 * @param until when it is too late, in milliseconds since the epoch
 * @returns what is kept of it; undefined if nothing is
 * @throws StoreError
 */
export async function keepRow(
  { tenant, call: { scope } }: Pick<Answered, 'tenant' | 'call'>,
  { name, memory, remembered }: StoredConversation,
  key: string,
  { text, ...size }: AnswerToKeep,
  until: number,
): Promise<StoredAnswer | undefined> {
  const plain = new Uint8Array(new TextEncoder().encode(text));
  const isTooLong = plain.length > LONGEST_KEPT;
  const sealed = isTooLong ? undefined : await sealBytes(tenant, 'answer', `${name} ${key}`, plain);
  const at = Date.now();
  const since = scope.timings.startedAt;
  const row = sealed ? { ...size, sealed: sealed.buffer } : NOTHING;
  const { kept, isOthers } = await within(
    Math.max(0, until - at),
    memory((stub) => stub.keptAnswers.add({ key, since, until, ...row })),
  );
  // An answer that was refused is in no later view, and the next report says so.
  remembered.of('keptAnswers').keep(key, kept ?? NOT_KEPT, at);
  if (kept?.goneWith === null && !isOthers) remembered.of('answerOutputs').keep(key, text, at);
  return kept ?? undefined;
}
