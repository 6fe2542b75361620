/** Makes and checks receipts (docs/answers-and-errors.md#receipts). */
import { timingSafeEqual } from 'node:crypto';
import { VERSION } from '../lib/version.ts';
import { tokenMeasure } from '../memory/modes/strategy.ts';
import { type ReceiptFacts, receiptHashes, signedText } from '../memory/plan/receipt.ts';
import type { Receipt, ReceiptHashes } from '../memory/plan/receipt-schema.ts';
import { textOf } from '../protocol/json/spans.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { sha256Hex, type Tenant, tenantsOf } from '../tenant/identity.ts';
import { termsFor } from './made-before.ts';
import type { MadeView } from './made-view.ts';

/** Keeps these seals apart from all others. */
const LABEL = 'receipt:';

/**
 * In bytes. A receipt parses the body and the view, which takes several times their memory
 * (docs/answers-and-errors.md#receipts).
 */
export const LARGEST_BODY = 4 * 1024 * 1024;

/**
 * The receipt of a request; undefined for a large body, and without a tenant, since nobody could
 * sign it.
 */
export function receiptOf(call: Call, made: MadeView): Receipt | undefined {
  const { request, chosen, scope } = call;
  const { tenant } = scope.caller;
  if (!tenant || request.bytes.length > LARGEST_BODY) return undefined;
  const receipt = {
    version: 1 as const,
    precis: VERSION,
    issued_at: Math.floor(Date.now() / 1000),
    protocol: request.protocol,
    observed: made.report.potential !== undefined,
    strategy: { ...chosen.strategy },
    limit: limitIn(made),
    ...(made.byteLimit === undefined ? {} : { bytes: made.byteLimit }),
    ...(made.unedited ? { unedited: [...made.unedited] } : {}),
    hashes: hashesOf(call, made),
  };
  return { ...receipt, signature: signatureOf(receipt, tenant) };
}

/** The signature of a receipt by a tenant. */
export function signatureOf(receipt: Omit<Receipt, 'signature'>, tenant: Tenant): string {
  return tenant.seal(LABEL + signedText(receipt));
}

/** Whether the receipt is this tenant's, under the present secret or the one before. */
export function isSigned(receipt: Receipt, tenant: Tenant): boolean {
  const signature = Buffer.from(receipt.signature);
  return tenantsOf(tenant).some((tenant) =>
    timingSafeEqual(Buffer.from(signatureOf(receipt, tenant)), signature),
  );
}

export function hashesOf({ request, chosen, scope }: Call, made: MadeView): ReceiptHashes {
  const { strategy } = chosen;
  const { model, answerTokens } = request;
  const { config } = scope.services;
  const { report, planned, view } = made;
  const array = conversationIn(request.bytes, request);
  const facts: ReceiptFacts = {
    array,
    text: {
      array: request.array && textOf(request.array.bytes, request.array.list),
      tools: request.tools?.text(),
    },
    sent: view ? conversationIn(request.write(view), request) : array,
    model,
    tools: request.field('tools'),
    answerTokens,
    strategy,
    terms: termsFor(request, strategy, config),
    measure: tokenMeasure(strategy, model, config.tokenFactors),
    limit: limitIn(made),
    ...(made.byteLimit === undefined ? {} : { bytes: made.byteLimit }),
    // Who has the array alone can't know what the upstream has refused before.
    report: { ...report, ...(planned && { trigger: planned.trigger, frontier: planned.frontier }) },
    view,
    rounds: made.rounds,
    reasoning: made.reasoning,
  };
  return receiptHashes(facts, sha256Hex);
}

function limitIn({ limit }: MadeView): Receipt['limit'] {
  return limit ? { tokens: limit.tokens, with_answer: limit.withAnswer } : null;
}

function conversationIn(body: Uint8Array, { conversationField }: ModelRequest): unknown {
  return (JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>)[conversationField];
}
