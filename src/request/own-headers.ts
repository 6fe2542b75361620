/** Headers of Precis that are spelled wrong: they are refused, since they can mean nothing else. */
import { hintFor } from '../memory/strategy/hint.ts';
import { checkOwnHeader, OWN_HEADERS, UnknownHeader } from '../upstream/request.ts';
import { ApiError } from './errors.ts';

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
  const { header } = error;
  const hint = hintFor(header, [...OWN_HEADERS], 'those that begin so');
  return new ApiError('invalid_value', `The header ${header} is none of Precis; ${hint}.`, header);
}
