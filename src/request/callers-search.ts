/** The query of a request, as far as it is for the upstream. */
import { partOfSearch, urlOf } from '../lib/request-url.ts';

/** Of routes that name a conversation in their path. */
const OWN_PARAMETERS = ['user'];

/**
 * Without the parameters that are for its own route.
 *
 * @param named the conversation, if the path names one
 */
export function callersSearch({
  incoming,
  named,
}: {
  readonly incoming: Request;
  readonly named?: object | undefined;
}): string {
  const { search } = urlOf(incoming);
  return named ? partOfSearch(search, (name) => !OWN_PARAMETERS.includes(name)) : search;
}
