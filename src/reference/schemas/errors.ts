/**
 * The errors that Precis makes, in OpenAI's shape and in Anthropic's: as the body of an answer, and
 * as the event that ends a stream.
 */
import * as z from 'zod';
import { FAILED_CODES, type FailedCode } from '../../protocol/responses/failed-codes.ts';
import { ERRORS, type ErrorCode } from '../../request/error-codes.ts';
import { name } from './common.ts';

export const errorCode = z.enum(Object.keys(ERRORS) as ErrorCode[]);
name(errorCode, 'ErrorCode');

export const failedCode = z.enum(Object.keys(FAILED_CODES) as FailedCode[]);
name(failedCode, 'ResponseFailedCode');

const message = z.string().describe('What would be right.');
const param = z.string().nullable().describe('The field, header or query parameter at fault.');

export const error = z.strictObject({
  error: z.strictObject({ message, type: z.string(), param, code: errorCode }),
});
name(error, 'Error');

export const messagesError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: z.string().describe("Anthropic's, by the status."),
    message,
    code: errorCode,
    param,
    details: z
      .strictObject({ error_code: z.literal('thread_unsupported_request') })
      .optional()
      .describe("Of `thread_unsupported_request` alone, which is Anthropic's."),
  }),
  request_id: z.string(),
});
name(messagesError, 'MessagesError');

/** In streams the upstream's errors have the same place. */
const anyCode = z
  .union([errorCode, z.string()])
  .nullable()
  .describe("The code of an error of Precis, or the upstream's own.");
const said = { message: z.string(), param: z.string().nullable() };
const status = z
  .int()
  .optional()
  .describe('The status that it has outside of streams, if no answer has begun.');
const sequence_number = z.int().min(0);

export const chatStreamError = z.looseObject({
  error: z.looseObject({ ...said, type: z.string(), code: anyCode, status }),
});
name(chatStreamError, 'ChatStreamError');

export const responseStreamError = z.looseObject({
  type: z.literal('error'),
  sequence_number,
  ...said,
  code: anyCode,
  error: z.looseObject({ type: z.string(), ...said, code: anyCode }),
});
name(responseStreamError, 'ResponseStreamError');

export const responseFailed = z.looseObject({
  type: z.literal('response.failed'),
  sequence_number,
  response: z.looseObject({
    status: z.literal('failed'),
    error: z.looseObject({
      code: failedCode,
      ...said,
      type: z.string(),
      reason: anyCode.optional().describe("The error's own code, where it is not `code`."),
      status,
    }),
  }),
});
name(responseFailed, 'ResponseFailed');

export const messagesStreamError = z.looseObject({
  type: z.literal('error'),
  error: z.looseObject({
    type: z.string().describe("Anthropic's, by the status."),
    message: z.string(),
    code: anyCode.optional(),
    param: said.param.optional(),
  }),
});
name(messagesStreamError, 'MessagesStreamError');
