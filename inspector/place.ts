/** The inspector's screens as fragments of its address. A fragment never leaves the browser. */

export type Place =
  | { readonly screen: 'conversations' | 'try' | 'deployment' }
  | {
      readonly screen: 'operator';
      /** The id of a part of the screen. */
      readonly shown?: string;
    }
  | { readonly screen: 'conversation'; readonly id: string; readonly user: string | undefined }
  | {
      /** `try-request`: its array is tried with other strategies. */
      readonly screen: 'request' | 'try-request';
      readonly id: string;
      readonly user: string | undefined;
      /** The number of the request in its conversation, from 1. */
      readonly n: number;
    };

const OPERATOR = /^\/operator\?show=(.+)$/;
const TRIED = '/try/conversations/';
const CONVERSATION = /^\/conversations\/([^/?]+)(?:\/requests\/(\d{1,9}))?(?:\?user=(.*))?$/;

/** The place that a fragment names; the list of conversations if it names none. */
export function placeOf(fragment: string): Place {
  const path = fragment.replace(/^#/, '');
  if (path === '/try') return { screen: 'try' };
  if (path === '/deployment') return { screen: 'deployment' };
  if (path === '/operator') return { screen: 'operator' };
  const [, part] = OPERATOR.exec(path) ?? [];
  const shown = part === undefined ? undefined : decoded(part);
  if (shown !== undefined) return { screen: 'operator', shown };
  const isTried = path.startsWith(TRIED);
  const [, id, n, user] = CONVERSATION.exec(isTried ? path.slice('/try'.length) : path) ?? [];
  const named = id === undefined ? undefined : decoded(id);
  if (named === undefined) return { screen: 'conversations' };
  const of = { id: named, user: user === undefined ? undefined : decoded(user) };
  if (n !== undefined) return { screen: isTried ? 'try-request' : 'request', ...of, n: Number(n) };
  return isTried ? { screen: 'try' } : { screen: 'conversation', ...of };
}

/** The fragment of a place, with `#`. */
export function fragmentOf(place: Place): string {
  if (place.screen === 'operator' && place.shown !== undefined)
    return `#/operator?show=${encodeURIComponent(place.shown)}`;
  if (!('id' in place)) return `#/${place.screen}`;
  const request = 'n' in place ? `/requests/${place.n}` : '';
  const user = place.user === undefined ? '' : `?user=${encodeURIComponent(place.user)}`;
  return `#${place.screen === 'try-request' ? '/try' : ''}/conversations/${encodeURIComponent(place.id)}${request}${user}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
