/**
 * Whether an upstream's error says that the prompt is too long for the model's context, and the
 * numbers in it.
 *
 * There is no common format: a few servers have a code, most only words. Only the error's own words
 * count, never what it echoes from the request, since end users could write such words. So a code
 * for something else outweighs all words, and text that is quoted or may be part of a URL does not
 * count. Numbers are the upstream's own tokens.
 */
import { parseJson } from '../lib/json.ts';

/** In bytes. No server needs more for such an error. */
export const LONGEST_ERROR = 64 * 1024;

export interface TooLong {
  /** The largest number of tokens, if the error states it. */
  readonly limit?: number;
  /** Whether the limit includes the answer. */
  readonly withAnswer: boolean;
  /** Tokens of this prompt. */
  readonly prompt?: number;
  /** Whether the server may have read less than the whole prompt, and not say so. */
  readonly mayBeCut?: true;
  /** Tokens reserved for the answer. */
  readonly answer?: number;
}

/**
 * Whether a status says that something in the request is refused. 429 is about rates; 401, 403 and
 * 404 are about the caller.
 */
export function isOfRequest(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}

/**
 * Whether a status fits an error about length. Servers of local models send a 500 for a window that
 * is full (llama.cpp: https://github.com/ggml-org/llama.cpp/issues/19774; Ollama for MLX models:
 * https://github.com/ollama/ollama/blob/main/x/mlxrunner/pipeline.go), and so does DeepInfra
 * (https://github.com/langchain-ai/langchain/pull/25671). LiteLLM sends a 503 where the refusal
 * comes in a stream (https://github.com/dyad-sh/dyad/issues/1247).
 */
export function mayBeTooLong(status: number): boolean {
  return isOfRequest(status) || status === 500 || status === 503;
}

/** Codes of llama.cpp, GitHub Models, Perplexity, Qianfan, Volcengine and watsonx for it. */
const CODES = codeNames(
  'exceed_context_size_error',
  'tokens_limit_reached',
  'too_many_prompt_tokens',
  'tokens_too_long',
  'OutofContextError',
  'token_quantity_exceeded',
);
/** Codes of OpenAI, z.ai, GitHub Copilot, LiteLLM and relays, which differ in spelling alone. */
const OF_LENGTH =
  /^(?:model|max(?:imum)?)*(?:contextlimit|(?:context|prompt|input)(?:length|window|tokens?)?)(?:toolong|exceeded|overflow)(?:error)?$/;

/** The body is too large, possibly in bytes (https://platform.claude.com/docs/en/api/errors). */
const LARGE_CODE = codeName('request_too_large');
const OF_TOKENS = /\btokens?\b|\bcontext\b/i;

/**
 * Codes and types that only say that something is wrong. With them, with numeric codes and with
 * none, the words decide.
 */
const GENERIC = codeNames(
  'error',
  'None', // LiteLLM
  'null',
  'bad_request',
  'BadRequestError', // vLLM, SGLang
  'bad_request_error', // MiniMax
  'Client specified an invalid argument', // xAI
  'ValidationException', // Bedrock
  'validation_error', // Bedrock
  'validation', // text-generation-inference
  'ValueError', // vLLM, SGLang
  'server_error', // llama.cpp
  'request_too_large',
);

/**
 * Likewise: OpenAI's, Anthropic's and DeepSeek's `invalid_request_error`, Mistral's
 * `invalid_request_prompt`, `…_invalid_args` and `…_message_error`, the `invalid_argument` of
 * Gemini and xAI, DashScope's `InvalidParameter`, watsonx's `invalid_input_argument`, Ollama's
 * `api_error`, and the `upstream_error` and `new_api_error` of relays.
 */
const GENERIC_FORM =
  /^invalid(?:request|(?:input)?argument|parameter)|(?:api|gateway|provider|upstream)error$/;

/**
 * Phrases for it, each with a server that uses it. The words of local servers are in
 * https://github.com/ggml-org/llama.cpp/issues/19774 and in
 * https://github.com/ggml-org/llama.cpp/pull/13577 (llama.cpp),
 * https://github.com/ollama/ollama/blob/main/llm/llama_server.go (Ollama),
 * https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1251,
 * https://github.com/anomalyco/opencode/issues/11141 and
 * https://github.com/aaif-goose/goose/issues/11318 (LM Studio).
 */
const WORDS = [
  // OpenAI, Azure, vLLM, xAI, DeepSeek, OpenRouter, DeepInfra, SambaNova, Poolside, TensorRT-LLM
  /maximum (?:context|prompt|model|(?:allowed )?input) length/,
  // OpenAI, Anthropic, llama.cpp, Ollama, Workers AI
  /exceed(?:s|ed)? (?:[\w']+ ){0,3}context (?:length|limit|size|window)/,
  /context (?:length|size|window) (?:has been )?exceed/, // llama.cpp, LM Studio, MiniMax
  // LM Studio, Ollama, SGLang, vLLM
  /(?:longer|greater) than the context|longer than the model|fit in(?:to the model| context)/,
  /context length is only|configured context size is/, // vLLM, DwarfStar
  // OpenAI, Gemini, GitHub Copilot, Volcengine, SiliconFlow, Nova, DashScope
  /\b(?:input|prompt|total)(?: message token)? (?:length|tokens?)\b.{0,40}\bexceed/,
  /\b(?:input|prompt|context) \(\d+ tokens\) exceeds the maximum allowed length/, // SGLang
  // Anthropic, Ollama, SageMaker, Qianfan, z.ai
  /prompt (?:tokens |\(\d+ tokens\) )?(?:is )?(?:too long|超长)/,
  /prompt exceeds max(?:imum)? length/, // z.ai
  /input is too long for (?:the |this )?(?:requested )?model/, // Bedrock
  /too many input tokens|input token length too long/, // Bedrock, Moonshot
  /context shift is disabled/, // llama.cpp before June 2025
  /context (?:the )?overflows/, // LM Studio
  /reached context length of/, // LM Studio, also in the middle of an answer
  /cannot truncate prompt with n_keep/, // LM Studio
  /\binputs\b.*must (?:be <=|have less than)/, // text-generation-inference, Together
  /tokens \(\d+\) must be less than (?:or equal to )?max_seq_len/, // SiliconFlow
  /too large for model with/, // Mistral
  /reduce the length of the messages/, // Groq, Cerebras
  /exceeded model token limit/, // Moonshot
  /range of input length should be/, // DashScope
  /number of tokens (?:\(prompt.*|in the prompt )cannot exceed|size limit exceeded by \d+ tokens/, // Cohere
  /input token count is \d+ but/, // Vertex AI
  /tokens in request more than max tokens allowed/, // a provider of OpenCode
  /litellm\.contextwindowexceedederror/, // LiteLLM
].map(anyCase);

/**
 * Phrases for a limit of the prompt alone. All other limits are windows, which include the answer.
 */
const OF_THE_PROMPT = anyCase(
  /maximum prompt length|configured limit|input token count|prompt token count|range of input length|exceeds (?:the )?maximum (?:allowed )?(?:input )?length|max input tokens|max_(?:num|prompt)_tokens|max size:|inputs must have/,
);

/** Rates: OpenAI's and Groq's "tokens per minute", which Groq sends with status 413. */
const OF_RATES = anyCase(/\bper (?:second|min|minute|hour|day)\b|\b[tr]p[smhd]\b|\brate.?limit|\bquota\b/);

/** Phrases of other errors about tokens or lengths. */
const OTHERWISE = [
  OF_RATES,
  // Pairing of calls and results.
  /\btool[_ ]?calls?\b|\btool_call_id|\btool_use\b|\btool_result\b|role ['"`]?tool\b/,
  /\bfunction[_ -]?(?:calls?|responses?|call_outputs?)\b|\bcall_id\b/,
  // A body that does not match the schema: such errors repeat the request.
  /['"]loc['"]:/,
].map(anyCase);

export function isOfRate(words: string): boolean {
  return OF_RATES.test(words);
}

/** The answer's limit alone is at fault. */
const OF_THE_ANSWER = anyCase(/\bmax_(?:completion_|output_|new_)?tokens\b.*\bis too (?:large|high)\b/);

const RATE_CODE = codeName('rate_limit_exceeded');

/** Patterns with the limit. */
const LIMITS = [
  /context length (?:of|is) only #/,
  /maximum (?:context|prompt|(?:allowed )?input) length:? (?:is |of )?\(?#/,
  /maximum context length of \S+ is #/,
  /configured limit of #/,
  /> # maximum/,
  /exceed context limit: \d+ \+ \d+ > #/,
  /max(?:imum number of)? tokens allowed (?:is )?\(?#/,
  /max_(?:num|prompt)_tokens \(#/,
  /(?:max input tokens|max size|token limit) ?: #/,
  /context size \(# tokens\)/,
  /configured context size is #/,
  /context window (?:of|limit) \(?#/,
  /context length only supports #/,
  /context length (?:of|is) #/,
  /context length \(?#/,
  /\bn_ctx:? \(?#/,
  /maximum model length of #/,
  /maximum allowed length \(#/,
  /must (?:be <=|have less than|be less than (?:or equal to )?max_seq_len) \(?#/,
  /too large for model with #/,
  /while limit is #/,
  /total tokens limit #/,
  /exceeds (?:the )?(?:limit of|maximum length) #/,
  /exceed model limit \(#/,
  /input length should be \[1, ?#/,
  /supports up to #/,
  /limit for this model is #/,
  /cannot exceed #/,
].map(withNumber);

/** Patterns with the prompt's own length. "At least" is not one: vLLM stops counting there. */
const PROMPTS = [
  /too long: #/,
  /exceed context limit: #/,
  /token count (?:is |of )?\(?#/,
  /input token count: #/,
  /request \(# tokens\)/,
  /request (?:contains|has) # (?:input )?tokens/,
  /prompt (?:contains|has) # (?:input )?tokens/,
  /passed # input tokens/,
  /requested tokens \(#/,
  /keep the first # tokens/,
  /\bthe input has # tokens/,
  /number of input tokens \(?#/,
  /\bn_keep:? \(?#/,
  /input \(# tokens\)/,
  /input prompt \(# tokens\)/,
  /(?<!maximum (?:allowed )?)\b(?:input|prompt) length \(?#/,
  /prompt \((?:total )?length #/,
  /given: #/,
  /current length is #/,
  /- received #/,
  /length of prompt_tokens \(#/,
].map(withNumber);

/** Patterns with the sum of prompt and answer. */
const TOTALS = [
  /resulted in # tokens/,
  /requested (?:about |a total of )?# tokens/,
  /\(requested: #/,
  /max_total_tokens \(#/,
].map(withNumber);

/** Patterns with the answer's share. */
const ANSWERS = [
  /# (?:tokens )?(?:in|for) the (?:completion|output)/,
  /requested # output tokens/,
  /exceed context limit: \d+ \+ #/,
  /plus # max_tokens/,
  /and # max_new_tokens/,
].map(withNumber);

/**
 * Reads an error about a prompt that is too long. Undefined if it is about something else, or if
 * the answer alone fills the context, so that no prompt would be short enough.
 */
export function readTooLong(status: number, body: string): TooLong | undefined {
  const statement = statementIn(body);
  if (!statement || OF_THE_ANSWER.test(statement.echoing)) return undefined;
  const refusal = readNoRoom(status, body);
  if (!refusal?.withAnswer) return refusal;
  const { limit, answer } = refusal;
  return limit !== undefined && answer !== undefined && answer >= limit ? undefined : refusal;
}

/**
 * Reads an error about a prompt and an answer that do not fit into the model's context together,
 * for a call whose answer may be limited further. Undefined if it is about something else.
 */
export function readNoRoom(status: number, body: string): TooLong | undefined {
  if (!mayBeTooLong(status)) return undefined;
  const statement = statementIn(body);
  if (!statement) return undefined;
  const { text, codes } = statement;
  if (codes.has(RATE_CODE) || OTHERWISE.some((words) => words.test(statement.echoing))) return undefined;
  if (![...codes].some((code) => CODES.has(code) || OF_LENGTH.test(code))) {
    if (![...codes].every(isGeneric)) return undefined;
    const large = codes.has(LARGE_CODE) && OF_TOKENS.test(text);
    if (!large && !WORDS.some((words) => words.test(text))) return undefined;
  }

  const limit = statement.limit ?? numberIn(text, LIMITS);
  const answer = numberIn(text, ANSWERS);
  const total = numberIn(text, TOTALS);
  const prompt = statement.prompt ?? numberIn(text, PROMPTS) ?? (total && total - (answer ?? 0));
  return {
    withAnswer: !OF_THE_PROMPT.test(text),
    ...(limit ? { limit } : {}),
    ...(prompt !== undefined && prompt > 0 ? { prompt } : {}),
    ...(answer === undefined ? {} : { answer }),
  };
}

/**
 * Like `readTooLong`, for an error event in a stream, which may hold its status as a field. Other
 * numbers are a server's own codes (5021 of Workers AI).
 */
export function readTooLongEvent(json: string): TooLong | undefined {
  const event = parseJson(json) as { status?: unknown; code?: unknown; error?: unknown } | undefined;
  const error = (event?.error ?? event) as typeof event;
  return readTooLong([error?.status, error?.code].find(isStatus) ?? 400, json);
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value < 600;
}

/** The words of an error in JSON, with the words of the servers that a gateway forwards to. */
export function wordsOfError(json: string): string {
  return statementIn(json)?.echoing ?? '';
}

/** The same without anything that may repeat the request. */
export function ownWordsOfError(json: string): string {
  return statementIn(json)?.text ?? '';
}

/** An error's own words, codes and numbers. */
interface Statement {
  text: string;
  /** The words including quotes. */
  echoing: string;
  /** In the form of `codeName`. */
  readonly codes: Set<string>;
  limit?: number;
  prompt?: number;
}

/** Members with words, or with objects that have them. All others may repeat the request. */
const WITH_WORDS = ['error', 'errors', 'message', 'msg', 'detail', 'metadata', 'raw'];

/** Errors of gateways contain the errors of the servers that they forward to. */
const DEEPEST = 8;
const LONGEST_TEXT = 2_000;
const MOST_ITEMS = 4;

function statementIn(body: string): Statement | undefined {
  const statement: Statement = { text: '', echoing: '', codes: new Set() };
  const root = parseJson(body);
  if (typeof root !== 'object' || root === null) return undefined;
  collect(root, statement, DEEPEST);
  return statement;
}

function collect(value: unknown, statement: Statement, depth: number): void {
  if (depth === 0) return;
  if (typeof value === 'string') {
    const { words, inner } = split(value);
    const cut = words.slice(0, LONGEST_TEXT);
    statement.echoing += `${cut}\n`;
    statement.text += `${withoutEcho(cut)}\n`;
    if (inner !== undefined) collect(inner, statement, depth - 1);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value.slice(0, MOST_ITEMS)) collect(item, statement, depth - 1);
    return;
  }
  const fields = value as Record<string, unknown>;
  for (const name of ['code', 'type'] as const) {
    const code = fields[name];
    if (typeof code === 'string') statement.codes.add(codeName(code));
  }
  // llama.cpp puts both numbers beside the message.
  if (typeof fields.n_ctx === 'number') statement.limit = fields.n_ctx;
  if (typeof fields.n_prompt_tokens === 'number') statement.prompt = fields.n_prompt_tokens;
  for (const name of WITH_WORDS) if (Object.hasOwn(fields, name)) collect(fields[name], statement, depth - 1);
}

/**
 * Splits a message into its words and the JSON error of another server that a gateway has appended.
 */
function split(value: string): { words: string; inner?: unknown } {
  const start = value.indexOf('{');
  const words = value.slice(0, Math.max(0, start));
  // A quoted error comes from the request, not from a server.
  if (start < 0 || words.length > LONGEST_TEXT || withoutEcho(words) !== words) return { words: value };
  const text = value.slice(start, value.lastIndexOf('}') + 1);
  const inner = parseJson(text) ?? parseJson(ofBytes(text)) ?? parseJson(ofPython(text));
  return inner === undefined ? { words: value } : { words, inner };
}

/** The JSON in bytes that Python has printed: `b'{\\n "error": …}'`. */
function ofBytes(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

/** A string, a constant, or an escape, which begins no string: so the search is linear. */
const PYTHON = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\b(?:None|True|False)\b|\\./g;
const CONSTANTS: Readonly<Record<string, string>> = { None: 'null', True: 'true', False: 'false' };

/** A dictionary that Python has printed, as JSON: `{'error': {'message': "…", 'param': None}}`. */
function ofPython(text: string): string {
  return text.replace(PYTHON, (all: string, one?: string, two = one) =>
    two === undefined ? (CONSTANTS[all] ?? all) : JSON.stringify(ofBytes(two)),
  );
}

/** Parameter names in quotes are the server's own words. */
const PARAMETERS = /(['"`])(inputs?|messages|prompt|max_(?:completion_|output_|new_)?tokens)\1/g;
/**
 * A URL hides everything after it, since a made-up URL can contain spaces. A quote hides everything
 * up to the last quote of its kind, or up to the end, since quoted text may hold quotes. An
 * apostrophe is not a quote.
 */
const ECHOES = [
  /(?:\b[a-z][a-z0-9+.-]{0,20}:\/\/|\bdata:\w{1,20}\/).*/is,
  /(?<!\w)'(?:.*'(?!\w)|.*)/gs,
  /"(?:.*"|.*)/gs,
  /`(?:.*`|.*)/gs,
  /[“„«].*[”“»]/gs,
  /‘.*’/gs,
];

/** A message without anything that may repeat the request. Unchanged if there is nothing. */
function withoutEcho(text: string): string {
  const named = text.replace(PARAMETERS, '$2');
  return ECHOES.reduce((left, echo) => left.replace(echo, ''), named);
}

function isGeneric(code: string): boolean {
  return /^\d*$/.test(code) || GENERIC.has(code) || GENERIC_FORM.test(code);
}

/** A code in lower case, letters and digits only, since servers spell it differently. */
function codeName(code: string): string {
  return code.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

function codeNames(...codes: string[]): ReadonlySet<string> {
  return new Set(codes.map(codeName));
}

function numberIn(text: string, places: readonly RegExp[]): number | undefined {
  for (const place of places) {
    const digits = place.exec(text)?.[1];
    if (digits !== undefined) return Number(digits.replaceAll(',', ''));
  }
  return undefined;
}

/** `#` matches a number with optional thousands commas. */
function withNumber({ source }: RegExp): RegExp {
  return new RegExp(source.replaceAll('#', '(\\d[\\d,]*)'), 'i');
}

function anyCase({ source }: RegExp): RegExp {
  return new RegExp(source, 'i');
}
