/** `POST /v1/compact`: returns the view and the report, without a completion. */

import type { Context } from 'hono';
import { readRequest, readWholeCall } from '../answer/model-call.ts';
import { setReportHeaders } from '../answer/report-headers.ts';
import { concat } from '../lib/bytes.ts';
import { conversationTurns } from '../memory/conversation/conversation-turns.ts';
import { readHistory } from '../memory/conversation/history.ts';
import type { MemoryStrategy } from '../memory/modes/table.ts';
import type { View } from '../memory/plan/view.ts';
import { verbatimTurns } from '../memory/strategy/strategy.ts';
import { type ChatRequest, compactedParts, writeCompactedMessages } from '../protocol/chat/request.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { sealedMessage } from '../protocol/sealed.ts';
import { checkSize, readBody } from '../request/body.ts';
import type { Call } from '../request/call.ts';
import { sealingTenant } from '../request/caller.ts';
import { ApiError } from '../request/errors.ts';
import { checkPlanned } from '../request/known-key.ts';
import { noteNamed } from '../request/named-refs.ts';
import { scopeOf } from '../request/scope.ts';
import type { AppEnv } from '../request/services.ts';
import { sealCompaction } from '../tenant/sealed-item.ts';
import type { MadeView } from '../view/made-view.ts';
import { makeView } from '../view/make-view.ts';
import { CHAT } from './chat.ts';

const encoder = new TextEncoder();

export async function compact(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(await readBody(c.req.raw, CHAT.field), CHAT, c.get('agent'), scope);
  const force = flag(request, 'force');
  const dryRun = flag(request, 'dry_run');
  const format = formatOf(request);
  const call = await readWholeCall(request, c.get('agent'), scope);
  const options = { force, dryRun, count: true, expressly: true };
  const made = await makeView(call, options);
  checkPlanned(made.report, scope);
  if (made.remember && !dryRun) scope.waitUntil(made.remember(undefined));

  const compacted = writeCompactedMessages(request, made.view);
  const body = concat([
    encoder.encode('{"object":"memory.compaction",'),
    await partOf(format, compacted, made, call),
    encoder.encode(`,"memory":${JSON.stringify(made.report)}}`),
  ]);
  if (!dryRun) scope.waitUntil(noteNamed(compacted, call));
  const headers = new Headers({ 'content-type': 'application/json' });
  setReportHeaders(headers, made.report, scope.timings);
  return new Response(body, { headers });
}

/** The answer's fields that hold the view, without braces. */
async function partOf(
  format: Format,
  compacted: Uint8Array,
  made: MadeView,
  call: Call<ChatRequest>,
): Promise<Uint8Array> {
  if (format === 'conversation_memory') return conversationPart(call.request, made, call.chosen.strategy);
  const messages = format === 'messages' ? compacted : await sealedMessages(made.view, call);
  return concat([encoder.encode('"messages":'), messages]);
}

/**
 * The preamble, and one user message that holds everything else in sealed form, to be sent back
 * unchanged.
 *
 * @throws ApiError without a tenant, or if the body is too large
 */
async function sealedMessages(
  view: View | undefined,
  { request, owner, scope }: Call<ChatRequest>,
): Promise<Uint8Array> {
  const tenant = sealingTenant(scope.caller);
  checkSize(request);
  const { preamble, others } = compactedParts(request, view);
  const sealed =
    others.length > 0 ? [sealedMessage(await sealCompaction(tenant, owner, others.join(',')))] : [];
  return encoder.encode(`[${[...preamble, ...sealed.map((message) => JSON.stringify(message))].join(',')}]`);
}

/** The fields of `conversation_memory`, without braces. */
function conversationPart(
  request: ModelRequest,
  { view, history }: MadeView,
  strategy: MemoryStrategy,
): Uint8Array {
  const recent = verbatimTurns(strategy);
  const json = JSON.stringify(conversationTurns(history ?? readHistory(request.messages), view, recent));
  return encoder.encode(json.slice(1, -1));
}

type Format = 'messages' | 'conversation_memory' | 'opaque';

function formatOf(request: ModelRequest): Format {
  const format = request.field('format') ?? 'messages';
  if (format === 'messages' || format === 'conversation_memory' || format === 'opaque') return format;
  throw new ApiError(
    'invalid_json',
    "format must be 'messages', 'conversation_memory' or 'opaque'.",
    'format',
  );
}

function flag(request: ModelRequest, name: 'force' | 'dry_run'): boolean {
  const value = request.field(name) ?? false;
  if (typeof value === 'boolean') return value;
  throw new ApiError('invalid_json', `${name} must be true or false.`, name);
}
