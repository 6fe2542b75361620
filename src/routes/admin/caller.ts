/**
 * `/v1/admin/callers`: who uses the deployment, and how much, never what for; reads, adds, changes
 * and deletes one caller, without its key.
 */
import { limitsFault } from '../../caller-limits.ts';
import { type CallerLimits, callerLimitsSchema } from '../../memory/money/caller-limits.ts';
import { inWords } from '../../memory/strategy/hint.ts';
import { ApiError, invalid } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import type { CallerChange } from '../../storage/tenant/callers.ts';
import { objectIn } from '../any-protocol.ts';
import type { RouteContext } from '../context.ts';
import { countIn, type PageSizes } from '../query.ts';
import { deleted, stored } from '../stored.ts';
import { eraseAll } from '../tenant-data.ts';
import { isTenantName, type KnownCaller, KnownCallers } from './known-callers.ts';

/** Of a caller that is added here: it is part of a path, and of a list in `ACCESS_KEYS`. */
const NEW_NAME = /^[\w][\w.@-]{0,63}$/;

/** Before a key that is made here. */
const KEY_PREFIX = 'precis-';
const KEY_BYTES = 32;

const FIELDS = ['state', 'limits', 'new_key'];

/** What a body asks for. What is absent stays, or with `PUT` is as usual. */
interface AskedChange extends Pick<CallerChange, 'state' | 'limits'> {
  readonly newKey: boolean;
}

export async function getCaller(c: RouteContext): Promise<Response> {
  const { callers, name } = askedFor(c);
  return c.json(await stored(c, async () => callers.shown(await callers.find(name))));
}

/** `PUT /v1/admin/callers/{name}`: adds a caller, or sets one, also one that was deleted. */
export async function putCaller(c: RouteContext): Promise<Response> {
  const asked = askedFor(c);
  const { callers, services, name } = asked;
  const { state = 'active', limits = null, newKey } = await readChange(c.req.raw);
  const found = await stored(c, () => foundOrNew(callers, name, services));
  const hasKey = found.isConfigured || found.registered?.keyHash != null;
  const key = found.kind === 'access_key' && (newKey || !hasKey) ? makeKey() : undefined;
  return change(c, asked, found, { state, limits }, key);
}

/** `PATCH /v1/admin/callers/{name}`: changes what the body names. */
export async function patchCaller(c: RouteContext): Promise<Response> {
  const asked = askedFor(c);
  const { callers, name } = asked;
  const { newKey, ...changes } = await readChange(c.req.raw);
  const found = await stored(c, () => callers.find(name));
  if (found.registered?.state === 'deleted')
    throw new ApiError('caller_not_found', `The caller '${name}' is deleted; PUT adds it again.`, 'name');
  return change(c, asked, found, changes, newKey ? makeKey() : undefined);
}

/**
 * `DELETE /v1/admin/callers/{name}`: deletes all data of a caller, whose key is refused from then
 * on, also while it is in `ACCESS_KEYS`. What takes longer is deleted in the background (202).
 */
export async function deleteCaller(c: RouteContext): Promise<Response> {
  const { callers, services, name } = askedFor(c);
  const isGone = await stored(c, async () => {
    const found = await callers.find(name);
    await register(services, found, { state: 'deleted', keyHash: null, limits: null });
    const all = await eraseAll(found.tenants, services, (stub) => stub.setState('deleted'));
    await services.register((stub) => stub.callers.unsee(found.tenants));
    return all;
  });
  return deleted(c, { name, object: 'memory.caller.deleted' }, isGone);
}

function askedFor(c: RouteContext) {
  const services = c.get('services');
  return { services, callers: new KnownCallers(services), name: c.req.param('name') ?? '' };
}

/** @throws ApiError `caller_not_found` for what can't be added */
async function foundOrNew(callers: KnownCallers, name: string, { config }: Services): Promise<KnownCaller> {
  try {
    return await callers.find(name);
  } catch (error) {
    const isNew = config.access && !isTenantName(name);
    if (!(error instanceof ApiError) || !isNew) throw error;
    if (NEW_NAME.test(name)) return callers.newCaller(name);
    throw invalid(
      'name',
      'The name of a new caller has up to 64 letters, digits, _, ., @ and -, and begins with none of the last three.',
    );
  }
}

/**
 * Changes a caller in the register and in its own object, which refuses a closed one at once.
 *
 * @param key a new one, shown in this answer alone
 */
async function change(
  c: RouteContext,
  { services, callers, name }: ReturnType<typeof askedFor>,
  found: KnownCaller,
  changes: Pick<CallerChange, 'state' | 'limits'>,
  key: string | undefined,
): Promise<Response> {
  if (found.kind === 'tenant' && (changes.limits || key !== undefined))
    throw invalid(
      key === undefined ? 'limits' : 'new_key',
      'A caller without an access key of this deployment spends its own money: only its state can be set.',
    );
  if (found.isConfigured && key !== undefined)
    throw invalid('new_key', `ACCESS_KEYS has the key of '${name}'; change it there.`);
  // A key that was made before the configuration had one for the name ends.
  const isSet = found.isConfigured || key !== undefined;
  const keyHash = isSet ? { keyHash: key ? (services.tenants.hashesOfKey(key)[0] ?? null) : null } : {};
  const shown = await stored(c, async () => {
    await register(services, found, { ...changes, ...keyHash });
    const { state } = changes;
    if (state)
      await Promise.all(found.tenants.map((id) => services.tenant(id)((stub) => stub.setState(state))));
    return callers.shown(await callers.find(name));
  });
  const isNew = found.registered === undefined && !found.isConfigured && found.kind === 'access_key';
  const answer = key === undefined ? shown : { ...shown, access_key: key };
  return c.json(answer, isNew ? 201 : 200);
}

async function register(
  services: Services,
  { name, kind, tenants: [tenant] }: KnownCaller,
  changes: Omit<CallerChange, 'name' | 'tenant'>,
): Promise<void> {
  const change = { name, tenant: kind === 'tenant' ? (tenant ?? null) : null, ...changes };
  await services.register((stub) => stub.callers.change(change));
  services.callers.changed();
}

/** @throws ApiError that names the field */
async function readChange(request: Request): Promise<AskedChange> {
  const form = `The body must be a JSON object of ${FIELDS.join(', ')}`;
  const { state, limits, new_key: newKey = false } = await objectIn(request, form, FIELDS, '{}');
  if (state !== undefined && state !== 'active' && state !== 'disabled')
    throw invalid('state', "state must be 'active' or 'disabled'; DELETE deletes a caller.");
  if (typeof newKey !== 'boolean') throw invalid('new_key', 'new_key must be true or false.');
  return {
    newKey,
    ...(state === undefined ? {} : { state }),
    ...(limits === undefined ? {} : { limits: readLimits(limits) }),
  };
}

function readLimits(limits: unknown): CallerLimits | null {
  if (limits === null) return null;
  const read = callerLimitsSchema.safeParse(limits, { error: inWords });
  if (read.success) return read.data;
  throw invalid('limits', `limits ${limitsFault(read.error)}.`);
}

function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return KEY_PREFIX + Buffer.from(bytes).toString('base64url');
}

/**
 * Each caller takes a call of its object, two while a secret is rotated, and an invocation may make
 * 50 (https://developers.cloudflare.com/workers/platform/limits/).
 */
const PAGE: PageSizes = { usual: 20, largest: 20 };

/** `GET /v1/admin/callers`: a page of all callers. */
export async function listCallers(c: RouteContext): Promise<Response> {
  const size = countIn(c, 'limit', PAGE);
  const callers = new KnownCallers(c.get('services'));
  const { data, cursor } = await stored(c, async () => {
    const page = await callers.page(c.req.query('cursor'), size);
    return { data: await Promise.all(page.callers.map((one) => callers.shown(one))), cursor: page.cursor };
  });
  const answer = { object: 'list', data, has_more: cursor !== undefined, cursor: cursor ?? null };
  return c.json(answer);
}
