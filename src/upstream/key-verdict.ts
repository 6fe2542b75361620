/**
 * Asks the upstream whether it accepts a caller's key: for its models, or where it lists these to
 * anybody, for the key itself.
 */
import { baseUrlOf, type Config } from '../config.ts';
import { errorFields, type Log } from '../log.ts';
import type { Tenant } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { AcceptedKeys, Answered, Verdict } from './acceptance.ts';
import { isLookedAt, isOpenRouter, replaceKey, type UpstreamApi } from './api.ts';
import { otherKeys, withoutKeys } from './credentials.ts';
import { fetchUpstream } from './fetch.ts';
import { ownCallHeaders, upstreamUrl } from './request.ts';

/** Who asks: the headers of a request, and its query as far as it is the upstream's. */
interface Asker {
  readonly headers: Headers;
  readonly search: string;
}

/**
 * A trusted tenant needs no verdict. A caller's own key needs the upstream's verdict, which is
 * asked with this key alone. If that is no proof and the request has other keys, such as a
 * gateway's, it is asked with all of them, and once more with an invented key instead of the
 * caller's: only where that makes the difference is the caller's key accepted. So it is where the
 * key is in a header that the upstream may not look at.
 *
 * @param api the request's: no other upstream gets the key
 */
export async function verdictOn(
  tenant: Tenant,
  { headers: incoming, search }: Asker,
  api: UpstreamApi,
  { config, accepted, log }: { config: Config; accepted: AcceptedKeys; log: Log },
): Promise<Verdict> {
  if (tenant.isTrusted || !config.verifyKeys || accepted.isKnown(tenant.id)) return 'accepted';
  const all = ownCallHeaders(incoming, { api, isVendor: config.upstreamIsOpenAi });
  const alone = new Headers(all);
  const others = otherKeys(all, api);
  for (const name of others) alone.delete(name);
  const plain = withoutKeys(search);
  const isAlone = others.length === 0 && plain === search;
  const baseUrl = baseUrlOf(api, config);
  const isProof = isLookedAt(all, api, baseUrl);
  const path = keyPathOf(baseUrl);
  const answerTo = (query: string, asked: Headers) => {
    const key = api.keyIn(asked);
    if (path === '/key' && key !== undefined) asked.set('authorization', `Bearer ${key}`);
    return answered(upstreamUrl(baseUrl, path, query), asked);
  };
  const differs = async (query: string, asked: Headers): Promise<Answered> => {
    const invented = new Headers(asked);
    replaceKey(invented, inventedLike(api.keyIn(asked) ?? ''), api);
    return (await answerTo(query, invented)) === 'refused' ? 'accepted' : 'unheeded';
  };
  const ask = async (): Promise<Answered> => {
    const first = await answerTo(plain, alone);
    if (first === 'accepted') return isProof ? first : differs(plain, alone);
    if (isAlone) return sure(first);
    const second = sure(await answerTo(search, all));
    return second === 'refused' ? second : differs(search, all);
  };
  const beside =
    isAlone && isProof
      ? ''
      : tenant.seal(JSON.stringify([search, isProof, others.map((name) => all.get(name))]));
  const asked = () =>
    ask().then(
      (answered) => {
        if (answered === 'unheeded') log('warn', UNHEEDED, { code: 'unverified_key' });
        return answered;
      },
      (error: unknown) => {
        log('warn', UNASKED, { code: 'unverified_key', ...errorFields(error) });
        throw error;
      },
    );
  return accepted.verdictOn(tenant.id, api.name, asked, beside);
}

/**
 * What is asked about a key: a path that an upstream answers to none that it does not accept.
 * OpenRouter lists its models to anybody, so its list says nothing about a key. It says who has a
 * key, and takes it as a bearer there
 * (https://openrouter.ai/docs/api/api-reference/api-keys/get-current-key).
 */
export function keyPathOf(baseUrl: string): '/models' | '/key' {
  return isOpenRouter(baseUrl) ? '/key' : '/models';
}

const UNASKED =
  'the upstream does not say whether it accepts a key, and nothing is stored under the key until it does; VERIFY_KEYS=false trusts every key';

const UNHEEDED =
  'the upstream accepts any key because of another key in the request, so nothing is stored under it; VERIFY_KEYS=false trusts every key';

const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** `silent`: a busy or failing upstream, or one without this route, says nothing about the key. */
async function answered(url: string, headers: Headers): Promise<'accepted' | 'refused' | 'silent'> {
  const { response } = await fetchUpstream(
    { url, method: 'GET', headers, body: null },
    TIME_LIMITS.keyVerdictMs,
    new AbortController().signal,
  );
  await response.body?.cancel();
  if (response.ok) return 'accepted';
  return REFUSALS.has(response.status) ? 'refused' : 'silent';
}

/** @throws if the upstream does not say */
function sure<Stated extends string>(answer: Stated | 'silent'): Exclude<Stated, 'silent'> {
  if (answer === 'silent') throw new Error('the upstream does not say');
  return answer as Exclude<Stated, 'silent'>;
}

/** A gateway may tell its providers apart by how a key begins. */
function inventedLike(key: string): string {
  return `${key.slice(0, KEY_PREFIX)}${crypto.randomUUID().replaceAll('-', '')}`;
}

/** In characters. A key has 20 at least, so what is left of it opens nothing. */
const KEY_PREFIX = 8;
