/** `POST /v1/compact`: the view and the report, and no completion. */
import type { Context } from 'hono';
import { type ChatRequest, writeCompactedMessages } from '../protocol/chat.ts';
import { concat } from '../protocol/spans.ts';
import { scopeOf } from './ask-upstream.ts';
import { readRequest } from './chat.ts';
import { chooseStrategy } from './choose-strategy.ts';
import { ApiError } from './errors.ts';
import { makeView } from './make-view.ts';
import { setReportHeaders } from './report-headers.ts';
import type { AppEnv } from './services.ts';

const encoder = new TextEncoder();

export async function compact(c: Context<AppEnv>): Promise<Response> {
  const scope = scopeOf(c);
  const request = await readRequest(c.req.raw);
  const force = flag(request, 'force');
  const dryRun = flag(request, 'dry_run');
  const format = request.field('format') ?? 'messages';
  if (format !== 'messages') throw new ApiError('invalid_json', "format must be 'messages'.", 'format');
  const chosen = chooseStrategy(request, c.req.raw.headers, c.get('agent'), scope.services);
  const { view, report } = await makeView(request, chosen, scope, { force, dryRun, count: true });

  const body = concat([
    encoder.encode('{"object":"memory.compaction","messages":'),
    writeCompactedMessages(request, view),
    encoder.encode(`,"memory":${JSON.stringify(report)}}`),
  ]);
  const headers = new Headers({ 'content-type': 'application/json' });
  setReportHeaders(headers, report, scope.timings);
  return new Response(body, { headers });
}

function flag(request: ChatRequest, name: 'force' | 'dry_run'): boolean {
  const value = request.field(name) ?? false;
  if (typeof value === 'boolean') return value;
  throw new ApiError('invalid_json', `${name} must be true or false.`, name);
}
