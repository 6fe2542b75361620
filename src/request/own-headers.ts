/** Headers of Precis that are spelled wrong: they are refused, since they can mean nothing else. */
import { checkOwnHeader, UnknownHeader } from '../upstream/request.ts';
import { invalid } from './errors.ts';

/** Checks all headers, before anything is done for the request. @throws ApiError */
export function checkOwnHeaders(headers: Headers): void {
  try {
    for (const name of headers.keys()) checkOwnHeader(name);
  } catch (error) {
    throw knownHeader(error);
  }
}

/** The caller's error for an `UnknownHeader`; any other error as it is. */
export function knownHeader(error: unknown): unknown {
  if (!(error instanceof UnknownHeader)) return error;
  const { header, meant } = error;
  const message = `${header} is not a header of Precis; the nearest known one is '${meant}'.`;
  return invalid(header, message);
}
