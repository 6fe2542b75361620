/** The body of an error that Precis makes, in OpenAI's shape, and what each code means. */
import { z } from 'zod';
import type { ErrorCode } from '../../request/errors.ts';
import { name } from './common.ts';

/** When each code is answered. */
export const ERRORS: Readonly<Record<ErrorCode, string>> = {
  invalid_json:
    'The body is not a JSON object, or a field, parameter or header of Precis has the wrong form.',
  invalid_memory_strategy:
    'A strategy, `memory_injection`, `memory_blocks`, `memory_summary` or `memory_report` is not valid.',
  invalid_messages: '`messages` or `input` is missing or empty.',
  body_too_large: 'The body is over its limit.',
  unsupported_media_type: "The body's charset is not UTF-8, or its encoding is not supported.",
  invalid_ref: 'An invalid ref, `lines`, `grep`, `path`, `limit` or `cursor`.',
  ref_not_found: 'Nothing is stored under this ref and this key.',
  unknown_agent: 'There is no agent of this name.',
  invalid_api_key: 'No key, or one that is not accepted or too short for the request.',
  forbidden_origin:
    'With `LOCAL_TENANT`: a request to a host that is not local, or of a page of another origin.',
  memory_budget_exceeded:
    'With `overflow_policy: "error"`: memory and verbatim messages exceed their budget.',
  invalid_encrypted_content: "A compaction item is damaged, another caller's, or was made by the other API.",
  conversation_not_found: "Nothing is stored of this conversation, or in this user's memory.",
  request_not_found: 'The event of this request is not kept.',
  block_not_found: 'There is no memory block of this label, or not in this version.',
  block_changed: 'The memory block has another version than the change expects.',
  too_many_blocks: 'There are 100 memory blocks under this key.',
  not_forwarded: 'No such route, a wrong method, or a route that is closed in this deployment.',
  upstream_refused: "With access keys: the upstream refuses the deployment's account.",
  rate_limit_exceeded: "With access keys: the account's rate limit is reached.",
  upstream_unreachable: "The upstream can't be reached, or the connection broke.",
  upstream_timeout: 'The upstream did not answer in time.',
  answer_too_large: "An answer that must be read, since it may call Precis' tools, is over 16 MiB.",
  store_failed: 'Storage did not answer in time. The request can be sent again.',
  misconfigured: 'A variable of the deployment is missing or invalid.',
  internal_error: 'A bug in Precis.',
};

export const errorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);
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
