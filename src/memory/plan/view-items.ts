/** The items that a view has left out or replaced, under names that hold for longer arrays. */
import { REMOVAL_REASONS } from '../edits/fates.ts';
import type { Removal } from '../edits/removal.ts';
import type { AppliedEdit } from './report.ts';
import type { View } from './view.ts';

/** An item, and the type of the edit that it counts for. */
export interface ViewItem {
  readonly type: AppliedEdit['type'];
  /** The same for as long as the array only grows. */
  readonly name: string;
}

/** As many of each type as the report's edits have: messages that left, and contents replaced. */
export function viewItems({
  removals,
  dropped,
  summary,
}: Pick<View, 'removals' | 'dropped' | 'summary'>): ViewItem[] {
  const last = summary?.covers[1] ?? -1;
  const named = ({ reason, kind, message, call }: Removal, at: number): ViewItem => {
    const type = REMOVAL_REASONS[reason].edit;
    return { type, name: `${type}:${message}:${kind}:${kind === 'part' ? at : call}` };
  };
  return [
    ...[...removals.values()].flatMap((of) => of.map(named)),
    ...[...dropped].map((message): ViewItem => {
      const type = message > last ? 'trim' : 'summarize';
      return { type, name: `${type}:${message}` };
    }),
  ];
}
