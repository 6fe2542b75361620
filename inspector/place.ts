/** The inspector's screens as fragments of its address. A fragment never leaves the browser. */

export type Place =
  | { readonly screen: 'conversations' | 'try' | 'deployment' }
  | { readonly screen: 'conversation'; readonly id: string; readonly user: string | undefined }
  | {
      readonly screen: 'request';
      readonly id: string;
      readonly user: string | undefined;
      /** The number of the request in its conversation, from 1. */
      readonly n: number;
    };

const CONVERSATION = /^\/conversations\/([^/?]+)(?:\/requests\/(\d{1,9}))?(?:\?user=(.*))?$/;

/** The place that a fragment names; the list of conversations if it names none. */
export function placeOf(fragment: string): Place {
  const path = fragment.replace(/^#/, '');
  if (path === '/try') return { screen: 'try' };
  if (path === '/deployment') return { screen: 'deployment' };
  const [, id, n, user] = CONVERSATION.exec(path) ?? [];
  const named = id === undefined ? undefined : decoded(id);
  if (named === undefined) return { screen: 'conversations' };
  const of = { id: named, user: user === undefined ? undefined : decoded(user) };
  return n === undefined ? { screen: 'conversation', ...of } : { screen: 'request', ...of, n: Number(n) };
}

/** The fragment of a place, with `#`. */
export function fragmentOf(place: Place): string {
  if (!('id' in place)) return `#/${place.screen}`;
  const request = place.screen === 'request' ? `/requests/${place.n}` : '';
  const user = place.user === undefined ? '' : `?user=${encodeURIComponent(place.user)}`;
  return `#/conversations/${encodeURIComponent(place.id)}${request}${user}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
