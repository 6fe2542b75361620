/** Writes the output of one answer, sealed, into the object of its conversation. */
import { within } from '../../lib/time-limit.ts';
import { baseName } from '../../memory/models/families.ts';
import type { BridgedApi } from '../../protocol/bridges/bridge.ts';
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
import { sha256Hex, type Tenant } from '../../tenant/identity.ts';

export interface Answered {
  readonly call: Call;
  readonly tenant: Tenant;
  /** Whether nothing is sent or stored. */
  readonly isDry: boolean;
  /** What encrypted reasoning is bound to: the upstream of an API, and the account there. */
  accountOf(api: BridgedApi): string;
}

/** The key of a row: encrypted reasoning belongs to one account and one family of models. */
export function rowKeyOf({ call, accountOf }: Answered, api: BridgedApi, key: string): string {
  return sha256Hex(`${key} ${accountOf(api)} ${baseName(call.request.model ?? '')}`);
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

/**
 * @param key see `rowKeyOf`
 * @param until when it is too late, in milliseconds since the epoch
 * @returns what is kept of it; undefined if nothing is
 * @throws StoreError
 */
export async function keepRow(
  { tenant, call: { scope } }: Pick<Answered, 'tenant' | 'call'>,
  { name, memory, remembered }: StoredConversation,
  key: string,
  { json, ...size }: AnswerToKeep,
  until: number,
): Promise<StoredAnswer | undefined> {
  const plain = new Uint8Array(new TextEncoder().encode(json));
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
  remembered.keptAnswers.keep(key, kept ?? NOT_KEPT, at);
  if (kept?.goneWith === null && !isOthers) remembered.answerOutputs.keep(key, json, at);
  return kept ?? undefined;
}
