/**
 * Headers of Precis: which say yes or no, for all of which one rule holds, with `memory_report`
 * beside them; and which are spelled wrong, and so refused, since they can mean nothing else.
 */

import * as z from 'zod';
import { quote, whatIsWrong } from '../memory/strategy/hint.ts';
import { RETIRED_OPTIONS, setsRetired } from '../memory/strategy/retired.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { checkOwnHeader, UnknownHeader } from '../upstream/request.ts';
import { ApiError, invalid } from './errors.ts';

const WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['on', true],
  ['false', false],
  ['off', false],
]);

const OBSERVE = 'x-memory-observe';

/** The headers that ask for something. Each is false if it is absent. */
export interface Flags {
  /** `x-memory-report`: the report in the body. */
  readonly report: boolean;
  /** `x-memory-observe`: the share of the conversations whose requests are sent unchanged. */
  readonly observe: number;
}

/** Between 0 and 1, neither of which is one: they would be another way to say yes and no. */
const SHARE = /^0?\.\d*[1-9]\d*$/;

/** @throws ApiError `invalid_memory_strategy` for a header with any other word */
export function flagsIn(headers: Headers): Flags {
  return { report: flagIn(headers, 'x-memory-report'), observe: observedShareIn(headers) };
}

function observedShareIn(headers: Headers): number {
  const word = headers.get(OBSERVE)?.trim() ?? '';
  return SHARE.test(word) ? Number(word) : Number(flagIn(headers, OBSERVE, ', or a share such as 0.2'));
}

/**
 * The value of a word; undefined if it is none for yes or no. White space and case don't matter.
 */
export function flagOf(word: string): boolean | undefined {
  return WORDS.get(word.trim().toLowerCase());
}

/** @param more what else it may be */
function flagIn(headers: Headers, name: string, more = ''): boolean {
  const value = headers.get(name)?.trim() ?? '';
  // A client that sends a variable which is not set sends an empty header.
  if (value === '') return false;
  const flag = flagOf(value);
  if (flag !== undefined) return flag;
  throw new ApiError(
    'invalid_memory_strategy',
    `The header ${name} must be true or false (or on or off)${more}; this one is ${quote(value)}.`,
    name,
  );
}

const reportSchema = z.strictObject(RETIRED_OPTIONS);

/**
 * Whether to put the report into the body of the answer, by the body's field, else by the header;
 * and whether the field sets what is retired.
 *
 * @throws ApiError `invalid_memory_strategy`
 */
export function reportOptions(request: ModelRequest, headers: Headers) {
  const inBody = request.own('memory_report');
  // A header with a fault is an error also where the body wins over it.
  const { report } = flagsIn(headers);
  if (inBody === undefined) return { report, retired: false };
  if (typeof inBody === 'boolean') return { report: inBody, retired: false };
  const { success, data } = reportSchema.safeParse(inBody);
  if (success) return { report: true, retired: setsRetired(data, RETIRED_OPTIONS) };
  throw new ApiError(
    'invalid_memory_strategy',
    `memory_report must be true or false; ${whatIsWrong(inBody, Object.keys(reportSchema.shape))}.`,
    'memory_report',
  );
}

/** Checks the names of all headers, before anything is done for the request. @throws ApiError */
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
