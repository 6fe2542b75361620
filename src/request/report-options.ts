/** `memory_report` and its header: whether to report a request. */
import * as z from 'zod';
import { whatIsWrong } from '../memory/strategy/hint.ts';
import { RETIRED_OPTIONS, setsRetired } from '../memory/strategy/retired.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { ApiError } from './errors.ts';
import { flagsIn } from './flag-headers.ts';

interface ReportOptions {
  /** Whether to put the report into the body of the answer. */
  readonly report: boolean;
  /** Whether it sets what no longer has an effect. */
  readonly retired: boolean;
}

const reportSchema = z.strictObject(RETIRED_OPTIONS);

/** In the body's field, else in the header. @throws ApiError `invalid_memory_strategy` */
export function reportOptions(request: ModelRequest, headers: Headers): ReportOptions {
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
