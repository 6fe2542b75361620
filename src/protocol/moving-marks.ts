/**
 * The marks that move along with a conversation, so that each request reads what the one before has
 * left in the cache. They are no part of a view: a view stays the same while they move.
 */

/**
 * How many parts before a mark, or before the end, a cache looks for an entry
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
 * https://developers.openai.com/api/docs/guides/prompt-caching).
 */
const LOOKED_BACK = 20;

/** The bytes that a token of a prompt has at least, on the average. */
const LEAST_BYTES_PER_TOKEN = 2;

/** A message, as the cache counts it. */
interface Counted {
  readonly role: string;
  readonly parts: number;
}

interface MarkedArray<Place> {
  readonly messages: readonly Place[];
  /** Whether a mark can follow a message in the view. */
  bears(message: Place, index: number): boolean;
  /** Whether the cache reads and writes the end of each request without a mark. */
  readonly endsUnmarked: boolean;
}

/**
 * The messages to mark, ascending: the last one, and the one that the request before has ended
 * with, where so much has come since that the cache would not look back to it.
 */
export function movingPlaces<Place extends Counted>({
  messages,
  bears,
  endsUnmarked,
}: MarkedArray<Place>): readonly number[] {
  const lastOf = (before: number): number => {
    let at = before - 1;
    while (at >= 0 && !bears(messages[at] as Place, at)) at--;
    return at;
  };
  const last = lastOf(messages.length);
  const earlier = isFarFromBefore(messages) ? lastOf(answerIn(messages)) : -1;
  return [earlier, endsUnmarked ? -1 : last].filter((at, index, all) => at >= 0 && all.indexOf(at) === index);
}

/**
 * Whether more parts have come since the request before than a cache looks back from the end of an
 * array.
 */
export function isFarFromBefore(messages: readonly Counted[]): boolean {
  const answer = answerIn(messages);
  const since = answer < 0 ? [] : messages.slice(answer);
  return since.reduce((sum, { parts }) => sum + parts, 0) > LOOKED_BACK;
}

/** Where the last answer begins; -1 without one. */
function answerIn(messages: readonly Counted[]): number {
  let answer = messages.findLastIndex(({ role }) => role === 'assistant');
  while (answer > 0 && messages[answer - 1]?.role === 'assistant') answer--;
  return answer;
}

/** Whether a body is too short for a cache to keep any of it. @param least in tokens */
export function isTooShort(bytes: number, least: number): boolean {
  return bytes < LEAST_BYTES_PER_TOKEN * least;
}
