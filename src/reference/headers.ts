/** All headers of Precis: those that requests may bring, and those that answers have. */
import { MODE_NAMES } from '../memory/modes/meanings.ts';
import { EDIT_TYPES, SOURCES } from '../memory/plan/report-schema.ts';
import { TRIGGERS } from '../memory/replay/trigger.ts';
import type { JsonSchema } from './shape.ts';

interface Header {
  readonly description: string;
  readonly schema: JsonSchema;
}

const text: JsonSchema = { type: 'string' };
const id: JsonSchema = { type: 'string', minLength: 1, maxLength: 256 };
const flag: JsonSchema = { type: 'string', enum: ['true', 'on', 'false', 'off'] };
/** Codes in a sentence. */
const listed = (codes: readonly string[]): string =>
  codes
    .map((code) => `\`${code}\``)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' and ');
const number: JsonSchema = { type: 'string', pattern: '^\\d+$' };

export const REQUEST_HEADERS = {
  'x-memory-strategy': {
    description: '`memory_strategy`, as JSON, or the name of a mode.',
    schema: text,
  },
  'x-memory-injection': {
    description: '`memory_injection`, as JSON, or one of `true`, `false`, `on` and `off`.',
    schema: text,
  },
  'x-memory-blocks': {
    description: '`memory_blocks`, as JSON, or labels separated by commas; `off`: none.',
    schema: text,
  },
  'x-memory-report': { description: '`memory_report`: adds the report to the body.', schema: flag },
  'x-memory-observe': {
    description:
      '`true`, `on`, `false` or `off`: the request is sent unchanged, and the report says [what would have been done](answers-and-errors.md#observing).',
    schema: flag,
  },
  'x-memory-stream-errors': {
    description:
      'Where a streamed request gets [errors](answers-and-errors.md#errors-in-streams): as `events` of the stream, or as the status of `http`. By default Codex gets events, and all others the status.',
    schema: { type: 'string', enum: ['events', 'http'] },
  },
  'x-memory-user': {
    description:
      "Names the user, in at most 256 characters, if the body's `safety_identifier` and `user` don't.",
    schema: id,
  },
  'x-conversation-id': { description: '`conversation_id`: names the conversation.', schema: id },
  'x-agent-type': { description: '`agent_type`: names an agent of the deployment.', schema: text },
  'x-session-id': {
    description: "The client's session, which groups the refs and the archive of requests without a name.",
    schema: text,
  },
  'session-id': { description: 'Like `x-session-id`, as some clients send it.', schema: text },
  'if-match': {
    description: 'The version that the block must have, such as `"3"`; `*`: any.',
    schema: text,
  },
  'x-api-key': {
    description: "The caller's key, instead of `authorization`.",
    schema: text,
  },
  'anthropic-version': {
    description: "The version of Anthropic's API. On shared routes it says that the body is one of Messages.",
    schema: text,
  },
  'anthropic-beta': { description: "Betas of Anthropic's API, separated by commas.", schema: text },
  'x-claude-code-session-id': {
    description: "Claude Code's session: names the conversation where the request does not.",
    schema: id,
  },
  'x-claude-code-agent-id': {
    description: "Claude Code's subagent, which has its own conversation within the session.",
    schema: id,
  },
  'x-claude-code-request-class': {
    description: '`compaction` and `auxiliary` requests are sent unchanged, with any strategy.',
    schema: text,
  },
  range: { description: 'A single range of bytes: `bytes=0-1023`.', schema: text },
  'if-none-match': { description: 'The `etag` of an earlier answer.', schema: text },
} as const satisfies Readonly<Record<string, Header>>;

export type RequestHeader = keyof typeof REQUEST_HEADERS;

export const RESPONSE_HEADERS = {
  'x-memory-mode': { description: 'The mode.', schema: { type: 'string', enum: MODE_NAMES } },
  'x-memory-source': {
    description: 'Where the strategy comes from.',
    schema: { type: 'string', enum: SOURCES },
  },
  'x-memory-applied': {
    description: `The kinds of edits in this view, of ${listed(EDIT_TYPES)}, separated by commas; or \`none\`.`,
    schema: text,
  },
  'x-memory-trigger': {
    description: 'What caused the last edits.',
    schema: { type: 'string', enum: TRIGGERS },
  },
  'x-memory-frontier': {
    description:
      '`moved`: this request edited messages, and the cached prefix is shorter. `kept`: this view extends the view of the [request before](answers-and-errors.md#the-request-before). `none`: no edits.',
    schema: { type: 'string', enum: ['moved', 'kept', 'none'] },
  },
  'x-memory-tokens-before': {
    description: 'Tokens of your array, if it was counted; a body well under its budget is not.',
    schema: number,
  },
  'x-memory-tokens-after': {
    description: 'Tokens of the view, the messages that are forwarded, if it was counted.',
    schema: number,
  },
  'x-memory-next-edit': {
    description:
      'An estimate of the tokens of the view at which the [next edit](modes.md#a-budget-is-a-goal) comes.',
    schema: number,
  },
  'x-memory-potential-before': {
    description: 'Tokens of the array, if the request is only [observed](answers-and-errors.md#observing).',
    schema: number,
  },
  'x-memory-potential-after': {
    description:
      'Tokens of the view that would have been sent, if the request is only [observed](answers-and-errors.md#observing).',
    schema: number,
  },
  'x-memory-refs': {
    description: "Number of refs in the view's edits, including a summary's.",
    schema: number,
  },
  'x-memory-warning': {
    description: 'Codes of [warnings](answers-and-errors.md#warnings), separated by commas.',
    schema: text,
  },
  'x-memory-ref': {
    description: 'Facts about the content, as JSON in ASCII (`RefFacts`).',
    schema: text,
  },
  'x-memory-truncated': {
    description: 'The part was truncated at 256 Ki characters.',
    schema: { const: 'true' },
  },
  'x-memory-budget-day': {
    description:
      'With a [budget](operating.md#budgets-and-limits): the dollars that the caller may still spend today (UTC).',
    schema: text,
  },
  'x-memory-budget-month': { description: 'Likewise, this month (UTC).', schema: text },
  'x-ratelimit-limit-requests': { description: "The caller's requests per minute.", schema: number },
  'x-ratelimit-remaining-requests': { description: 'How many of these requests are left.', schema: number },
  'x-ratelimit-limit-tokens': { description: "The caller's tokens per minute.", schema: number },
  'x-ratelimit-remaining-tokens': { description: 'How many of these tokens are left.', schema: number },
  'server-timing': {
    description: "Milliseconds for the plan, for storage, for the summary, and until the upstream's headers.",
    schema: text,
  },
  etag: { description: 'The version of the block, the ref, or a hash of the document.', schema: text },
  'content-range': { description: 'The bytes of a range, and the total.', schema: text },
  'last-modified': { description: 'When the content was stored.', schema: text },
} as const satisfies Readonly<Record<string, Header>>;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Of each answer to a request for a model. */
export const REPORT_HEADERS = [
  'x-memory-mode',
  'x-memory-source',
  'x-memory-applied',
  'x-memory-trigger',
  'x-memory-frontier',
  'x-memory-tokens-before',
  'x-memory-tokens-after',
  'x-memory-next-edit',
  'x-memory-potential-before',
  'x-memory-potential-after',
  'x-memory-refs',
  'x-memory-warning',
  'x-memory-budget-day',
  'x-memory-budget-month',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'server-timing',
] as const satisfies readonly ResponseHeader[];

/** Of each request whose answer may be a stream. */
export const STREAM_HEADERS = ['x-memory-stream-errors'] as const satisfies readonly RequestHeader[];

/** Of each request of Anthropic's API. */
export const MESSAGES_HEADERS = [
  'x-api-key',
  'anthropic-version',
  'anthropic-beta',
  'x-claude-code-session-id',
  'x-claude-code-agent-id',
  'x-claude-code-request-class',
] as const satisfies readonly RequestHeader[];

/** Of each request for a model. */
export const MEMORY_HEADERS = [
  'x-memory-strategy',
  'x-memory-injection',
  'x-memory-blocks',
  'x-memory-report',
  'x-memory-observe',
  'x-memory-user',
  'x-conversation-id',
  'x-agent-type',
  'x-session-id',
  'session-id',
] as const satisfies readonly RequestHeader[];
