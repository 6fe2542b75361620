/**
 * `PUT /v1/conversations/{id}/memory`: the settings and the newest text of a conversation, as `GET`
 * of the same route has answered them, here or in another deployment
 * (docs/conversations.md#moving-a-conversation).
 */
import { Buffer } from 'node:buffer';
import { parseObject } from '../../lib/json.ts';
import { scanBody } from '../../protocol/body.ts';
import { forgetMemory } from '../../request/beliefs.ts';
import { readBody } from '../../request/body.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import { noteNamed } from '../../request/named-refs.ts';
import type { ListedMemory, SavedMemory, Settings } from '../../storage/conversation/memories.ts';
import { NO_TRANSCRIPT } from '../../summary/kept-transcript.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { LARGEST_OBJECT } from '../any-protocol.ts';
import { type RouteContext, scopeOf } from '../context.ts';
import { stored } from '../stored.ts';
import { checkSettings, overviewJson, type Target, target } from './memory.ts';
import { readOverview } from './sent-overview.ts';

/** In bytes. A hundred summaries of the usual size have one. */
const LARGEST_OVERVIEW = 8 * 1024 * 1024;

/**
 * `PUT /v1/conversations/{id}/memory`: replaces what is kept of the conversation, except its
 * archive and its block of cross-session memory, or begins to keep it.
 */
export async function putMemory(c: RouteContext): Promise<Response> {
  const named = await target(c, 'change');
  const { id, user, memory, conversation, services } = named;
  const saved = await readSaved(c.req.raw, named);
  const texts = new TextEncoder().encode(JSON.stringify(saved.memory));
  const owner = { user, conversation: id, off: [] };
  const overview = await stored(c, async () => {
    forgetMemory(conversation.name, services.memory);
    try {
      const restored = await memory((stub) => stub.restore(saved));
      await noteNamed(texts, { request: { messages: [], bytes: texts }, owner, scope: scopeOf(c) });
      return restored;
    } finally {
      // A request in progress may have remembered what was there before.
      forgetMemory(conversation.name, services.memory);
    }
  });
  return c.json(overviewJson(id, overview));
}

/** @throws ApiError that names the member */
async function readSaved(request: Request, { id, tenant, services }: Target): Promise<SavedMemory> {
  const bytes = await readBody(request, null, LARGEST_OVERVIEW);
  const scanned = scanBody(bytes, new Map());
  if (!scanned.ok) throw new ApiError(scanned.reason.code, scanned.reason.message, scanned.reason.param);
  const sent = readOverview(parseObject(new TextDecoder().decode(bytes)) ?? {}, id);
  if (!sent.ok)
    throw new ApiError(
      sent.reason.param === null ? 'invalid_json' : 'invalid_value',
      sent.reason.message,
      sent.reason.param,
    );
  const { settings, memory } = sent.value;
  checkSize(settings);
  checkSettings(settings, services);
  return { conversation: id, settings, memory: memory && withOwnTranscript(memory, tenant) };
}

/** @throws ApiError if a setting is larger than `PATCH` takes it */
function checkSize(settings: Settings): void {
  for (const [name, value] of Object.entries(settings))
    if (Buffer.byteLength(JSON.stringify(value)) > LARGEST_OBJECT)
      throw invalid(name, `${name} must have at most ${LARGEST_OBJECT.toLocaleString('en-US')} bytes.`);
}

/**
 * A version whose transcript is this tenant's. One that another deployment or key has stored can't
 * be fetched here: it is written again from the caller's array.
 */
function withOwnTranscript(memory: ListedMemory, { refs }: Tenant): ListedMemory {
  const named = [memory.ref, memory.transcript_earlier].filter((ref) => ref !== null);
  return named.every((ref) => refs.owns(ref)) ? memory : { ...memory, ...NO_TRANSCRIPT };
}
