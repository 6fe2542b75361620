/**
 * `POST /v1/compress` and `GET /v1/retrieve/{hash}`: Headroom's contract
 * (`protocol/headroom.ts`), by which a gateway has messages shortened before it asks its model. The
 * plan of any request answers them.
 */
import { readRequest, readWholeCall } from '../answer/read-call.ts';
import { CallLife } from '../listeners/life.ts';
import { parseStrategy } from '../memory/modes/strategy.ts';
import {
  compressedMessages,
  HASH_PATTERN,
  hasAnthropicBlocks,
  hashOfRef,
  refStartOf,
} from '../protocol/headroom.ts';
import type { Call } from '../request/call.ts';
import { ApiError, invalid } from '../request/errors.ts';
import { noteNamed } from '../request/named-refs.ts';
import { shelfOf } from '../request/shelf.ts';
import { answerQuery, parseQuery } from '../retrieval/query.ts';
import { storesOf } from '../storage/refs/store.ts';
import type { Tenant } from '../tenant/identity.ts';
import { isOfOpenAi } from './any-protocol.ts';
import { viewAlone, viewAnswer } from './compact.ts';
import { bodyOf, type RouteContext, scopeOf, verifiedTenant } from './context.ts';
import { CHAT, MESSAGES } from './models.ts';
import { stored } from './stored.ts';

export async function compress(c: RouteContext): Promise<Response> {
  const bytes = await bodyOf(c, CHAT.field);
  const scope = scopeOf(c);
  const isAnthropic = hasAnthropicBlocks(bytes) && !isOfOpenAi(bytes);
  const request = isAnthropic
    ? await readRequest(bytes, MESSAGES, scope)
    : await readRequest(bytes, CHAT, scope);
  const isBypassed = c.req.header('x-headroom-bypass')?.toLowerCase() === 'true';
  const call = chosenFor(await readWholeCall(request, scope), isBypassed);
  const life = new CallLife(scope, (isAnthropic ? MESSAGES : CHAT).answers.name);
  life.reads(call, 'compaction');
  return life.through(async () => {
    const made = await viewAlone(call, { force: false, dryRun: false });
    const { report, view } = made;
    const { tenant } = scope.caller;
    const { json, hashes } = compressedMessages(request, view, (ref) => tenant?.refs.owns(ref) === true);
    scope.waitUntil(noteNamed(new TextEncoder().encode(json), call));
    const { before = 0, after = 0 } = report.tokens ?? {};
    const facts = {
      tokens_before: before,
      tokens_after: after,
      tokens_saved: before - after,
      compression_ratio: before === 0 ? 1 : after / before,
      transforms_applied: [...new Set(report.applied_edits.map(({ type }) => type))],
      ccr_hashes: hashes,
      memory: report,
    };
    return viewAnswer(`{"messages":${json},${JSON.stringify(facts).slice(1)}`, made, life);
  });
}

/**
 * A gateway that asks for shorter messages has chosen to have them shortened: where nobody names a
 * strategy, it is `auto`. With the `token_budget` of Headroom's own clients, the body names one.
 *
 * @throws ApiError for a budget that no strategy could have
 */
function chosenFor(call: Call, isBypassed: boolean): Call {
  const { chosen, request } = call;
  if (isBypassed) return { ...call, chosen: { ...chosen, strategy: { mode: 'none' }, source: 'request' } };
  if (chosen.source !== 'default') return call;
  const budget = request.field('token_budget') ?? undefined;
  if (budget === undefined && chosen.strategy.mode !== 'none') return call;
  const strategy = parseStrategy({ mode: 'auto', ...(budget === undefined ? {} : { token_budget: budget }) });
  if (!strategy.ok) throw invalid('token_budget', strategy.reason.message);
  const source = budget === undefined ? chosen.source : 'request';
  return { ...call, chosen: { ...chosen, strategy: strategy.value, source } };
}

/** `GET /v1/retrieve/{hash}`, with a `query` for a part of the content. */
export async function getRetrieved(c: RouteContext): Promise<Response> {
  const tenant = await verifiedTenant(c, 'read');
  const hash = c.req.param('hash') ?? '';
  const found = HASH_PATTERN.test(hash) && (await stored(c, () => contentOf(c, tenant, hash)));
  if (!found)
    throw new ApiError(
      'ref_not_found',
      'Nothing is stored under this hash with this key: a hash has 24 hexadecimal digits, as POST /v1/compress writes them; its content may have expired or been deleted.',
      'hash',
    );
  return c.json({ hash, ref: found.ref, original_content: partOf(found.content, c.req.query('query')) });
}

/** The ref of a hash, with its content. */
async function contentOf(c: RouteContext, tenant: Tenant, hash: string) {
  const services = c.get('services');
  const shelf = shelfOf(tenant, services, (work) => c.executionCtx.waitUntil(work));
  for (const store of storesOf(services.bucket, tenant)) {
    const named = await store.startingWith(refStartOf(hash), MOST_NAMED);
    const ref = named.find((each) => hashOfRef(each) === hash);
    const opened = ref && (await shelf.get(ref));
    if (ref && opened) return { ref, content: opened.content };
  }
  shelf.unknown();
  return undefined;
}

/** Refs that differ in the last 4 bits of their content alone, which none do but by chance. */
const MOST_NAMED = 16;

/** The lines with a text, and the ones around them; the whole where none has it. */
function partOf(content: Uint8Array, query = ''): string {
  const parameters: Record<string, string> = query === '' ? {} : { grep: query, context: CONTEXT };
  const parsed = parseQuery((name) => parameters[name]);
  const answer = parsed.ok && parsed.value ? answerQuery(content, parsed.value) : undefined;
  return (answer?.ok && answer.value.text) || new TextDecoder().decode(content);
}

/** Lines around a match. */
const CONTEXT = '5';
