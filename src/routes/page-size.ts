/** How long a page of a list is to be. */
import { ApiError, type ErrorCode } from '../request/errors.ts';

export interface PageSizes {
  /** Where the caller names none. */
  readonly usual: number;
  readonly largest: number;
  /** Of the error, where `limit` is no such number. */
  readonly code: ErrorCode;
}

/** How many entries the query parameter `limit` asks for. @throws ApiError */
export function pageSize(limit: string | undefined, { usual, largest, code }: PageSizes): number {
  if (limit === undefined) return usual;
  const size = limit.length <= String(largest).length && /^\d+$/.test(limit) ? Number(limit) : 0;
  if (size >= 1 && size <= largest) return size;
  throw new ApiError(code, `limit must be a number from 1 to ${largest}.`, 'limit');
}
