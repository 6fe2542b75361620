/** `POST /v1/compact`: the view and the report, and no completion. */
import type { Context } from 'hono';
import { conversationTurns } from '../memory/conversation-turns.ts';
import { readHistory } from '../memory/history.ts';
import type { MemoryStrategy } from '../memory/strategy.ts';
import { type ChatRequest, readChatRequest, writeCompactedMessages } from '../protocol/chat.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { concat } from '../protocol/spans.ts';
import { scopeOf } from './ask-upstream.ts';
import { ApiError } from './errors.ts';
import { type MadeView, makeView } from './make-view.ts';
import { readCall, readRequest } from './model-call.ts';
import { noteNamed } from './named-refs.ts';
import { setReportHeaders } from './report-headers.ts';
import type { AppEnv } from './services.ts';

const encoder = new TextEncoder();

export async function compact(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(c.req.raw, readChatRequest);
  const force = flag(request, 'force');
  const dryRun = flag(request, 'dry_run');
  const format = formatOf(request);
  const { place, chosen } = await readCall(request, c.get('agent'), scope);
  const options = { force, dryRun, count: true, expressly: true };
  const made = await makeView(request, chosen, place, scope, options);
  if (made.remember && !dryRun) scope.waitUntil(made.remember(undefined));

  const body = concat([
    encoder.encode('{"object":"memory.compaction",'),
    ...(format === 'messages'
      ? messagesPart(request, made)
      : [conversationPart(request, made, chosen.strategy)]),
    encoder.encode(`,"memory":${JSON.stringify(made.report)}}`),
  ]);
  if (!dryRun) scope.waitUntil(noteNamed(body, request, place, scope));
  const headers = new Headers({ 'content-type': 'application/json' });
  setReportHeaders(headers, made.report, scope.timings);
  return new Response(body, { headers });
}

function messagesPart(request: ChatRequest, { view }: MadeView): Uint8Array[] {
  return [encoder.encode('"messages":'), writeCompactedMessages(request, view)];
}

/** Fields of an object, without its braces. */
function conversationPart(
  request: ModelRequest,
  { view, history }: MadeView,
  strategy: MemoryStrategy,
): Uint8Array {
  const recent = strategy.mode === 'rolling_summary' ? strategy.full_zone_turns : Number.POSITIVE_INFINITY;
  const json = JSON.stringify(conversationTurns(history ?? readHistory(request.messages), view, recent));
  return encoder.encode(json.slice(1, -1));
}

type Format = 'messages' | 'conversation_memory';

function formatOf(request: ModelRequest): Format {
  const format = request.field('format') ?? 'messages';
  if (format === 'messages' || format === 'conversation_memory') return format;
  throw new ApiError('invalid_json', "format must be 'messages' or 'conversation_memory'.", 'format');
}

function flag(request: ModelRequest, name: 'force' | 'dry_run'): boolean {
  const value = request.field(name) ?? false;
  if (typeof value === 'boolean') return value;
  throw new ApiError('invalid_json', `${name} must be true or false.`, name);
}
