/** `precis why [<request-id>]`: why a request was sent as it was, in a paragraph. */
import { addressOf, causeOf, fail, printable, takesKeys } from './said.js';

/** How many conversations are looked through, the latest used first. */
const MOST = 200;

/**
 * @param id the answer's `x-request-id`; undefined: the newest request is meant
 * @param where the conversation, and its user, if they are known
 * @returns the exit status: 0 found, 1 not
 */
export async function why(url, key, id, { conversation, user }) {
  if (!key) fail('OPENAI_API_KEY is not set.');
  const get = asker(addressOf(url), key);
  const open = await get('/v1/deployment', false);
  if (!takesKeys(open.status, open.json))
    fail(`${url}: the key was not sent, since this does not answer like Precis (status ${open.status})`);
  const named = conversation === undefined ? latest(get) : [{ name: conversation, user }];
  for await (const one of named) {
    const n = await numberOf(get, one, id);
    if (n === undefined) continue;
    const { json } = await get(`${pathOf(one)}/${n}/why${queryOf({ user: one.user })}`);
    console.log(json.why ?? json.error?.message);
    return json.why === undefined ? 1 : 0;
  }
  const looked =
    conversation === undefined
      ? ` in the ${MOST} latest conversations of this key.`
      : user === undefined
        ? `. If the requests of ${conversation} name a user, name it by --user.`
        : '.';
  console.error(`No event of ${id ?? 'any request'} is kept${looked}
A request leaves none without a key of 20 characters, in mode none without a conversation's name or
by its header x-memory-strategy, as the first of an unnamed conversation, if Precis could not read
it, and with EVENTS=off.`);
  return 1;
}

function asker(address, key) {
  return async (path, isWithKey = true) => {
    try {
      const headers = isWithKey ? { authorization: `Bearer ${key}` } : {};
      const response = await fetch(`${address}${path}`, { headers, redirect: 'manual' });
      const { status } = response;
      const json = printable(await response.json().catch(() => undefined)) ?? {};
      // One that is not kept is a 404.
      if (isWithKey && status !== 200 && status !== 404) fail(json.error?.message ?? `status ${status}`);
      return { status, json };
    } catch (error) {
      return fail(`${address} can't be asked: ${causeOf(error)}`);
    }
  };
}

/** The conversations of the key, the latest used first; one without a name by its opening. */
async function* latest(get) {
  let cursor;
  for (let seen = 0; seen < MOST && cursor !== null; seen += 100) {
    const { json } = await get(`/v1/conversations${queryOf({ sort: 'used', limit: 100, cursor })}`);
    for (const { id, user, opening } of json.data ?? [])
      if ((id ?? opening)?.isWellFormed() && user?.isWellFormed() !== false)
        yield { name: id ?? opening, user: user ?? undefined };
    cursor = json.cursor ?? null;
  }
}

/** The number of a request in a conversation, the newest one first; undefined if it is not kept. */
async function numberOf(get, one, id) {
  let cursor;
  do {
    const { json } = await get(`${pathOf(one)}${queryOf({ user: one.user, limit: 100, cursor })}`);
    const found = json.data?.find(({ request_id }) => id === undefined || request_id === id);
    if (found) return found.n;
    cursor = json.cursor;
  } while (cursor);
  return undefined;
}

function pathOf({ name }) {
  return `/v1/conversations/${encodeURIComponent(name)}/requests`;
}

function queryOf(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
