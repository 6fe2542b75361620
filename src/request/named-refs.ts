/**
 * Notes that the refs in a body are in use, even if this request's plan did not make them: an array
 * from `/v1/compact` holds markers that no plan makes again.
 */
import { bufferOf } from '../lib/bytes.ts';
import { pause } from '../lib/time-limit.ts';
import { REF_LENGTH, REF_PATTERN, REF_START } from '../memory/conversation/refs.ts';
import { continuedBy } from '../protocol/written-bodies.ts';
import type { Tenant } from '../tenant/identity.ts';
import type { Call } from './call.ts';
import type { ArrayOfCall } from './conversation.ts';
import { refWriterOf } from './ref-writer.ts';

/**
 * At most this many refs per body are checked. Each costs a few HMACs, and no real conversation has
 * more.
 */
const MOST_NAMED = 10_000;

/** The refs in a body, of whoever they are. */
interface Named {
  readonly ref: string;
  /** Where it ends first, in bytes. */
  readonly end: number;
  readonly isOwn: boolean;
}

/** The refs in bodies, and for whom they were checked. */
const known = new WeakMap<Uint8Array, { readonly tenant: NamingTenant; readonly named: readonly Named[] }>();

type NamingTenant = Pick<Tenant, 'refs'>;

/** Notes the refs. Never throws. @param body as it goes upstream, or back to the caller */
export async function noteNamed(body: Uint8Array, call: ArrayOfCall & Pick<Call, 'kept'>): Promise<void> {
  const { request, scope, kept } = call;
  const { tenant } = scope.caller;
  if (!tenant) return;
  // Yield, so that the answer goes out first.
  await pause(0);
  const refs = namedBy(body, tenant, kept && continuedBy(request.bytes, body, kept));
  // A dry run under an invented key may name refs too.
  if (refs.length === 0 || !(await scope.mayStore(tenant))) return;
  await refWriterOf(tenant, call).use(refs, (content) => namedBy(content, tenant));
}

/**
 * A tenant's refs in a body, without duplicates. A ref is ASCII, so the body is not decoded. What a
 * body shares with the one before it is not searched again.
 */
export function namedBy(
  body: Uint8Array,
  tenant: NamingTenant,
  continued?: ReturnType<typeof continuedBy>,
): string[] {
  const { named } = knownIn(body, tenant) ?? search(body, tenant, continued);
  return named.filter(({ isOwn }) => isOwn).map(({ ref }) => ref);
}

function knownIn(body: Uint8Array, tenant: NamingTenant) {
  const found = known.get(body);
  return found?.tenant === tenant ? found : undefined;
}

function search(body: Uint8Array, tenant: NamingTenant, continued: ReturnType<typeof continuedBy>) {
  const before = continued && knownIn(continued.before, tenant);
  const shared = before ? continued.shared : 0;
  const found = new Map<string, Named>();
  for (const one of before?.named ?? []) if (one.end <= shared) found.set(one.ref, one);
  const bytes = bufferOf(body);
  // A ref may begin in what is shared, and end after it. None goes over a byte that is in no ref.
  let from = Math.max(0, shared - REF_LENGTH + 1);
  while (from > 0 && isInRefs(bytes[from - 1])) from--;
  let at = bytes.indexOf(REF_START, from);
  while (at >= 0 && found.size < MOST_NAMED) {
    const ref = bytes.toString('latin1', at, at + REF_LENGTH);
    const isRef = REF_PATTERN.test(ref);
    const end = at + (isRef ? REF_LENGTH : REF_START.length);
    if (isRef && !found.has(ref)) found.set(ref, { ref, end, isOwn: tenant.refs.owns(ref) });
    at = bytes.indexOf(REF_START, end);
  }
  const searched = { tenant, named: [...found.values()] };
  known.set(body, searched);
  return searched;
}

/** Whether a byte is in refs: `REF_PATTERN`. */
function isInRefs(byte = 0): boolean {
  return (
    (byte >= CODES.a && byte <= CODES.z) || (byte >= CODES.two && byte <= CODES.seven) || byte === CODES._
  );
}

const CODES = { a: 97, z: 122, two: 50, seven: 55, _: 95 };
