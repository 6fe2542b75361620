/** The body of an error that Precis makes, in OpenAI's shape and in Anthropic's. */
import * as z from 'zod';
import { ERRORS, type ErrorCode } from '../../request/error-codes.ts';
import { name } from './common.ts';

export const errorCode = z.enum(Object.keys(ERRORS) as ErrorCode[]);
name(errorCode, 'ErrorCode');

export const error = z.strictObject({
  error: z.strictObject({
    message: z.string().describe('What would be right.'),
    type: z.string(),
    param: z.string().nullable().describe('The field, header or query parameter at fault.'),
    code: errorCode,
  }),
});
name(error, 'Error');

export const messagesError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: z.string().describe("Anthropic's, by the status."),
    message: z.string().describe('What would be right.'),
    code: errorCode,
    param: z.string().nullable().describe('The field, header or query parameter at fault.'),
    details: z
      .strictObject({ error_code: z.literal('thread_unsupported_request') })
      .optional()
      .describe("Of `thread_unsupported_request` alone, which is Anthropic's."),
  }),
  request_id: z.string(),
});
name(messagesError, 'MessagesError');
