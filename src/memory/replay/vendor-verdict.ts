/** What a vendor says of a request in its answer, and the cause that follows from it. Pure. */
import type { Change } from './change.ts';
import type { CacheMiss, MissCause } from './change-schema.ts';

/** The part of a request that has changed. A vendor does not know whose change it was. */
export type ChangedPart = 'model' | 'key' | 'user' | 'tools' | 'effort' | 'format' | 'tier' | 'input';

export interface VendorVerdict {
  /** Why its cache was missed. `none`: nothing that it compares has changed. */
  readonly cache?: ChangedPart | 'none';
  /**
   * All reasoning of the request that it has dropped, in this answer or before. Without a part,
   * what precedes the reasoning has changed.
   */
  readonly dropped?: { readonly blocks: number; readonly part?: 'model' | 'user' };
}

/** By the causes that are known of a request. Others are parts of the same name. */
const PARTS: Readonly<Partial<Record<MissCause, ChangedPart>>> = {
  own_tools: 'tools',
  message: 'input',
  move: 'input',
  instructions: 'input',
  added: 'input',
  rounds: 'input',
  hosted: 'input',
  unread: 'input',
};

/** @param change that is known of the request. It explains the part if it is a change of that */
export function causeOfPart(
  part: ChangedPart,
  change: Change | undefined,
): Pick<CacheMiss, 'cause' | 'message' | 'trigger'> {
  if (change && (PARTS[change.cause] ?? change.cause) === part) return change;
  return { cause: part === 'input' ? 'message' : part };
}
