/** What a model gets in place of a content. Pure. */

export const NO_ROOM = 'There is no room for more in this answer. Go on with what you have.';

export const GIVEN_ABOVE = 'This was given above already, in this answer. Go on with it.';

/** Calls answered per turn. */
export const MOST_CALLS = 16;
export const TOO_MANY = `Not more than ${MOST_CALLS} calls are answered at once. Ask for fewer at once.`;

/** @param ref as the model wrote it: any string */
export function unknownRef(ref: string): string {
  return `There is nothing under ${JSON.stringify(ref.slice(0, 64))}. Use a ref exactly as a placeholder of this conversation has it.`;
}

export function notKept(ref: string): string {
  return `The content of ${ref} is no longer kept. Continue without it.`;
}

/** Whether a result of a call for a ref is one of these. Rounds of 0.10 have the last two. */
export function isRefusal(result: string, ref: string): boolean {
  const named = JSON.stringify(ref.slice(0, 64));
  return [
    ...[NO_ROOM, GIVEN_ABOVE, TOO_MANY, unknownRef(ref), notKept(ref)],
    `There is nothing under ${named}. Use a ref as it stands in a placeholder of this conversation.`,
    `What stood under ${ref} is not kept any more. Go on without it.`,
  ].includes(result);
}
