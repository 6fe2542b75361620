/** `memory_report` and its header: whether to report a request, and to capture its view. */
import * as z from 'zod';
import { whatIsWrong } from '../memory/strategy/hint.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import { ApiError } from './errors.ts';
import { flagsIn } from './flag-headers.ts';

export interface ReportOptions {
  /** Whether to put the report into the body of the answer. */
  readonly report: boolean;
  /** Whether to capture the view. */
  readonly capture: boolean;
}

const reportSchema = z.strictObject({ capture: z.boolean().nullish() });

/** In the body's field, else in the header. @throws ApiError `invalid_memory_strategy` */
export function reportOptions(request: ModelRequest, headers: Headers): ReportOptions {
  const inBody = request.own('memory_report');
  // A header with a fault is an error also where the body wins over it.
  const { report } = flagsIn(headers);
  if (inBody === undefined) return { report, capture: false };
  if (typeof inBody === 'boolean') return { report: inBody, capture: false };
  const { success, data } = reportSchema.safeParse(inBody);
  if (success) return { report: true, capture: data.capture === true };
  throw new ApiError(
    'invalid_memory_strategy',
    `memory_report must be true, false or an object of capture (true or false); ${whatIsWrong(inBody, Object.keys(reportSchema.shape))}.`,
    'memory_report',
  );
}
