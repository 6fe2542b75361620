/** The titles of the page's screens, as tabs and histories show them. */
import type { Place } from '../place.ts';
import { visible } from './visible.ts';

/** In characters, of a conversation's name. */
const LONGEST_NAME = 60;

export function titleOf(place: Place): string {
  return `${subjectOf(place)} · Precis`;
}

const SCREENS = {
  conversations: 'Conversations',
  try: 'Try it',
  deployment: 'This deployment',
  operator: 'Operator',
};

function subjectOf(place: Place): string {
  if (!('id' in place)) return SCREENS[place.screen];
  const name = nameOf(place.id);
  if (!('n' in place)) return name;
  return `${place.screen === 'request' ? 'Request' : 'Try request'} ${place.n} of ${name}`;
}

/** A conversation without a name has the hash of its opening in its place. */
export function openingName(id: string): string | undefined {
  return /^[0-9a-f]{64}$/.test(id) ? `not named ${id.slice(0, 8)}` : undefined;
}

function nameOf(id: string): string {
  const name = openingName(id) ?? visible(id);
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}
