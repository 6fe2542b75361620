/** All headers of Precis: those that requests may bring, and those that answers have. */
import { MODE_NAMES } from '../memory/modes/meanings.ts';
import { EDIT_TYPES, SOURCES } from '../memory/plan/report-schema.ts';
import { TRIGGERS } from '../memory/replay/reasons.ts';
import type { JsonSchema } from './shape.ts';

type Header = { readonly description: string; readonly schema: JsonSchema };
type Headers = Readonly<Record<string, Header>>;

const text: JsonSchema = { type: 'string' };
const id: JsonSchema = { type: 'string', minLength: 1, maxLength: 256 };
/** Codes in a sentence. */
const listed = (codes: readonly string[]): string =>
  codes
    .map((code) => `\`${code}\``)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' and ');
const number: JsonSchema = { type: 'string', pattern: '^\\d+$' };

const header = (description: string, schema: JsonSchema = text): Header => ({ description, schema });
const oneOf = (values: readonly string[]): JsonSchema => ({ type: 'string', enum: values });

/** How a request for a model is answered. */
const CHOOSING = {
  'x-memory-strategy': header('`memory_strategy`, as JSON, or the name of a mode.'),
  'x-memory-injection': header('`memory_injection`, as JSON, or one of `true`, `false`, `on` and `off`.'),
  'x-memory-blocks': header('`memory_blocks`, as JSON, or labels separated by commas; `off`: none.'),
  'x-memory-report': header(
    '`memory_report`: adds the report to the body.',
    oneOf(['true', 'on', 'false', 'off']),
  ),
  'x-memory-observe': header(
    '`true`, `on`, `false` or `off`: the request is sent unchanged, and the report says [what would have been done](answers-and-errors.md#observing). `0.2`: so is that share of the conversations.',
  ),
} as const satisfies Headers;

const STREAMING = {
  'x-memory-stream-errors': header(
    'Where a streamed request gets [errors](answers-and-errors.md#errors-in-streams): as `events` of the stream, or as the status of `http`. By default Codex gets events, and all others the status.',
    oneOf(['events', 'http']),
  ),
} as const satisfies Headers;

/** Whose request it is, and which agent's. */
const NAMING = {
  'x-memory-user': header(
    "Names the user, in at most 256 characters, if the body's `safety_identifier` and `user` don't.",
    id,
  ),
  'x-conversation-id': header('`conversation_id`: names the conversation.', id),
  'x-agent-type': header('`agent_type`: names an agent of the deployment.'),
  'x-session-id': header(
    "The client's session, which groups the refs and the archive of requests without a name.",
  ),
  'session-id': header('Like `x-session-id`, as some clients send it.'),
} as const satisfies Headers;

const OF_ANTHROPIC = {
  'x-api-key': header("The caller's key, instead of `authorization`."),
  'anthropic-version': header(
    "The version of Anthropic's API. On shared routes it says that the body is one of Messages.",
  ),
  'anthropic-beta': header("Betas of Anthropic's API, separated by commas."),
  'x-claude-code-session-id': header(
    "Claude Code's session: names the conversation where the request does not.",
    id,
  ),
  'x-claude-code-agent-id': header(
    "Claude Code's subagent, which has its own conversation within the session.",
    id,
  ),
  'x-claude-code-request-class': header(
    '`compaction` and `auxiliary` requests are sent unchanged, with any strategy.',
  ),
} as const satisfies Headers;

export const REQUEST_HEADERS = {
  ...CHOOSING,
  ...STREAMING,
  ...NAMING,
  'if-match': header('The version that the block must have, such as `"3"`; `*`: any.'),
  ...OF_ANTHROPIC,
  range: header('A single range of bytes: `bytes=0-1023`.'),
  'if-none-match': header(
    'The `etag` of an earlier answer; to make a memory block that must not exist: `*`.',
  ),
} as const satisfies Headers;

export type RequestHeader = keyof typeof REQUEST_HEADERS;

const REPORTED = {
  'x-memory-mode': header('The mode.', oneOf(MODE_NAMES)),
  'x-memory-source': header('Where the strategy comes from.', oneOf(SOURCES)),
  'x-memory-applied': header(
    `The kinds of edits in this view, of ${listed(EDIT_TYPES)}, separated by commas; or \`none\`.`,
  ),
  'x-memory-trigger': header('What caused the last edits.', oneOf(TRIGGERS)),
  'x-memory-frontier': header(
    '`moved`: this request edited messages, and the cached prefix is shorter. `kept`: this view extends the view of the [request before](answers-and-errors.md#the-request-before). `none`: no edits.',
    oneOf(['moved', 'kept', 'none']),
  ),
  'x-memory-tokens-before': header(
    'Tokens of your array with all tools that are sent, if it was counted; a body well under its budget is not.',
    number,
  ),
  'x-memory-tokens-after': header(
    'Tokens of the view, the messages that are forwarded, if it was counted.',
    number,
  ),
  'x-memory-next-edit': header(
    'An estimate of the tokens of the view at which the [next edit](modes.md#a-budget-is-a-goal) comes.',
    number,
  ),
  'x-memory-potential-before': header(
    'Tokens of the array, if the request is only [observed](answers-and-errors.md#observing).',
    number,
  ),
  'x-memory-potential-after': header(
    'Tokens of the view that would have been sent, if the request is only [observed](answers-and-errors.md#observing).',
    number,
  ),
  'x-memory-refs': header("Number of refs in the view's edits, including a summary's.", number),
  'x-memory-warning': header('Codes of [warnings](answers-and-errors.md#warnings), separated by commas.'),
} as const satisfies Headers;

const SPENT = {
  'x-memory-budget-day': header(
    'With a [budget](operating.md#budgets-and-limits): the dollars that the caller may still spend today (UTC).',
  ),
  'x-memory-budget-month': header('Likewise, this month (UTC).'),
  'x-ratelimit-limit-requests': header("The caller's requests per minute.", number),
  'x-ratelimit-remaining-requests': header('How many of these requests are left.', number),
  'x-ratelimit-limit-tokens': header("The caller's tokens per minute.", number),
  'x-ratelimit-remaining-tokens': header('How many of these tokens are left.', number),
  'server-timing': header(
    "Milliseconds for the plan, for storage, for the summary, and until the upstream's headers.",
  ),
} as const satisfies Headers;

export const RESPONSE_HEADERS = {
  ...REPORTED,
  'x-memory-ref': header('Facts about the content, as JSON in ASCII (`RefFacts`).'),
  'x-memory-truncated': header('The part was truncated at 256 Ki characters.', { const: 'true' }),
  ...SPENT,
  etag: header('The version of the block, the ref, or a hash of the document.'),
  'content-range': header('The bytes of a range, and the total.'),
  'last-modified': header('When the content was stored.'),
} as const satisfies Headers;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

const namesOf = <Name extends string>(headers: Readonly<Record<Name, Header>>) =>
  Object.keys(headers) as Name[];

/** Of each answer to a request for a model. */
export const REPORT_HEADERS = namesOf({ ...REPORTED, ...SPENT });
/** Of each request whose answer may be a stream. */
export const STREAM_HEADERS = namesOf(STREAMING);
/** Of each request of Anthropic's API. */
export const MESSAGES_HEADERS = namesOf(OF_ANTHROPIC);
/** Of each request for a model. */
export const MEMORY_HEADERS = namesOf({ ...CHOOSING, ...NAMING });
