/** The body of an error that Precis makes, in OpenAI's shape. */
import { z } from 'zod';
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
