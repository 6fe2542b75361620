/** Limits of a list's page size. */
import { ApiError } from '../request/errors.ts';

export interface PageSizes {
  /** Without a `limit`. */
  readonly usual: number;
  readonly largest: number;
}

/** The page size that the query parameter `limit` asks for. @throws ApiError */
export function pageSize(limit: string | undefined, { usual, largest }: PageSizes): number {
  if (limit === undefined) return usual;
  const size = limit.length <= String(largest).length && /^\d+$/.test(limit) ? Number(limit) : 0;
  if (size >= 1 && size <= largest) return size;
  throw new ApiError('invalid_value', `limit must be a number from 1 to ${largest}.`, 'limit');
}
