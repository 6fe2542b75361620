/**
 * `POST /v1/verify`: makes the plan of a receipt anew, and says whether it is so. Stores nothing,
 * and asks no model.
 */
import { keptAnswersOf } from '../answer/bridge/bridged-call.ts';
import { readWholeCall } from '../answer/read-call.ts';
import { VERSION } from '../lib/version.ts';
import { parseStrategy, recalls } from '../memory/modes/strategy.ts';
import { type Receipt, type ReceiptHashes, receiptSchema } from '../memory/plan/receipt-schema.ts';
import { idleReport } from '../memory/plan/report.ts';
import { inWords } from '../memory/strategy/hint.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Verification } from '../reference/schemas/plan.ts';
import type { Call } from '../request/call.ts';
import { ApiError, invalid } from '../request/errors.ts';
import { checkPlanned } from '../request/known-key.ts';
import { makeView } from '../view/make-view.ts';
import { hashesOf, isSigned, LARGEST_BODY } from '../view/receipt.ts';
import { anyBody, readAny } from './any-protocol.ts';
import { type RouteContext, scopeOf } from './context.ts';

/** In bytes. A receipt with the longest instructions in its strategy takes less. */
const RECEIPT_BYTES = 64 * 1024;

type Check = Verification['checks'][number];

export async function verify(c: RouteContext): Promise<Response> {
  const body = await anyBody(c);
  const scope = scopeOf(c);
  const { request } = await readAny(body, scope);
  if (request.bytes.length > LARGEST_BODY + RECEIPT_BYTES)
    throw new ApiError('body_too_large', 'Bodies of over 4 MiB have no receipt.', null);
  const receipt = receiptIn(request);
  const call = await readWholeCall(request, scope);
  const checks = [...signatureChecks(receipt, call), ...(await planChecks(receipt, call))];
  const hasSignature = checks.some(({ name, ok }) => name === 'signature' && ok);
  return c.json({
    object: 'memory.verification',
    // Anybody can write a receipt that nobody has signed.
    valid: hasSignature && checks.every(({ ok }) => ok !== false),
    complete: checks.every(({ ok }) => ok === true),
    checks,
  });
}

/** @throws ApiError `invalid_value` */
function receiptIn(request: ModelRequest): Receipt {
  const parsed = receiptSchema.safeParse(request.field('receipt'), { error: inWords });
  if (parsed.success) return parsed.data;
  const path = ['receipt', ...(parsed.error.issues[0]?.path ?? [])].join('.');
  throw invalid(
    path,
    `${path} ${parsed.error.issues[0]?.message}. A receipt is memory.receipt of an answer with memory_report.`,
  );
}

function signatureChecks(receipt: Receipt, { scope }: Call): Check[] {
  const { tenant } = scope.caller;
  const signature: Check = !tenant
    ? { name: 'signature', ok: null, reason: 'The key of this request identifies no tenant.' }
    : checked('signature', isSigned(receipt, tenant), 'It was not made for this key, or was changed since.');
  const version: Check =
    receipt.precis === VERSION
      ? { name: 'version', ok: true }
      : {
          name: 'version',
          ok: null,
          reason: `It was made by version ${receipt.precis}, and this is ${VERSION}, which may plan differently.`,
        };
  return [signature, version];
}

/** @throws ApiError for a strategy that this version does not know */
async function planChecks(receipt: Receipt, call: Call): Promise<Check[]> {
  const { scope, chosen } = call;
  const parsed = parseStrategy(receipt.strategy);
  if (!parsed.ok) {
    const { field, message } = parsed.reason;
    throw invalid(['receipt.strategy', field].filter(Boolean).join('.'), message);
  }
  const { limit } = receipt;
  const strategy = parsed.value;
  const known = limit ? { tokens: limit.tokens, withAnswer: limit.with_answer } : ('none' as const);
  const unedited = new Set(receipt.unedited);
  const limits = { limit: known, byteLimit: receipt.bytes ?? ('none' as const) };
  const options = { force: false, dryRun: true, count: true, viewOnly: true, ...limits, unedited };
  const same = { ...call, chosen: { ...chosen, strategy } };
  const made = receipt.observed
    ? { view: undefined, report: idleReport(strategy.mode, chosen.source) }
    : await makeView(same, { ...options, reasoning: keptAnswersOf(same, true) });
  checkPlanned(made.report, scope);
  const hashes = hashesOf(same, made);
  const given = GIVEN.map(([name, differs]) => checked(name, hashes[name] === receipt.hashes[name], differs));
  const isSame = given.every(({ ok }) => ok);
  const following = madeChecks(receipt, hashes, isSame, !receipt.observed && recalls(strategy));
  return [...given, textCheck(receipt, hashes), ...following];
}

/** What a plan is made of, and what it means where the hash differs. */
const GIVEN = [
  ['array', 'These are different messages.'],
  ['request', 'Model, tools or the limit of the answer differ.'],
  ['strategy', 'The hash belongs to another strategy than the one in the receipt.'],
  [
    'prices',
    'The facts about the model, the counting of tokens, or the limit of the upstream has changed since.',
  ],
] as const;

/** Whoever reads and writes JSON may change its characters, and is not wrong for that. */
function textCheck({ hashes: stated }: Receipt, hashes: ReceiptHashes): Check {
  const reason = 'White space or escapes differ, which count as tokens.';
  return stated.text === hashes.text ? { name: 'text', ok: true } : { name: 'text', ok: null, reason };
}

/** Of what follows from the rest. @param isSame whether the plan is made of the same */
function madeChecks(
  { hashes: stated }: Receipt,
  hashes: ReceiptHashes,
  isSame: boolean,
  isRecalled: boolean,
): Check[] {
  const unknown = (name: Check['name'], reason: string): Check => ({ name, ok: null, reason });
  const ofMemory = 'It depends on a memory, which is not read here.';
  const words =
    stated.words === hashes.words || (stated.words === null && !isRecalled)
      ? checked('words', stated.words === hashes.words, 'The view had no summary.')
      : unknown(
          'words',
          isRecalled
            ? ofMemory
            : 'The summary is no longer stored here, and a model would write a different one.',
        );
  const hasKept = stated.rounds === hashes.rounds && stated.reasoning === hashes.reasoning;
  if (!isSame || isRecalled || !hasKept) {
    const ofStored = hasKept ? ofMemory : 'It depends on what is kept of earlier answers, which has changed.';
    const reason = isSame ? ofStored : 'It depends on what differs.';
    return [unknown('plan', reason), unknown('view', reason), words];
  }
  const follows = (name: 'plan' | 'view'): Check =>
    hashes[name] !== stated[name] && hashes.text !== stated.text
      ? unknown(name, 'It may depend on white space or escapes, which differ.')
      : checked(name, hashes[name] === stated[name], `The ${name} of these messages is different.`);
  const view =
    hashes.view !== stated.view && words.ok === null
      ? unknown('view', "It holds the summary's words.")
      : follows('view');
  return [follows('plan'), view, words];
}

function checked(name: Check['name'], ok: boolean, reason: string): Check {
  return ok ? { name, ok } : { name, ok, reason };
}
