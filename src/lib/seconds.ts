/** Times on the wire are in whole seconds since 1970, those inside in milliseconds. */

/** @param milliseconds since 1970 */
export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
