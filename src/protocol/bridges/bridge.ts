/**
 * A bridge lets a caller of chat completions use a model over another API: it writes the chat body
 * of a view as a body of that API, and the answer as a chat answer. All else sees chat.
 */
import type { JsonObject } from '../../lib/json.ts';
import type { AnswerFault } from '../answers/answer-format.ts';
import type { Frame } from '../answers/sse.ts';

/** The APIs that a chat request can be sent over. */
export type BridgedApi = 'responses' | 'messages';

/** A decoded body of chat completions. */
export interface ChatBody extends JsonObject {
  readonly messages: readonly JsonObject[];
}

/** The output of an answer in the API of its upstream, kept so that it can be sent again. */
export interface KeptOutput {
  readonly api: BridgedApi;
  /** JSON of the items (Responses) or the content blocks (Messages), in their order. */
  readonly json: string;
}

/** An output that is sent instead of messages, into which a client may have divided the answer. */
export interface SentOutput extends KeptOutput {
  /** The calls of these messages; absent if it replaces one. */
  readonly calls?: readonly JsonObject[];
}

/** By index of an assistant message, what is sent instead of it; undefined if that is not known. */
export type KeptOutputs = (index: number) => SentOutput | undefined;

/** The output of a complete answer, and the message of chat that the caller gets. */
export interface CompleteAnswer extends KeptOutput {
  readonly message: JsonObject;
}

/** What a chat body asks for that the other API does not have, in OpenAI's words. */
export interface BridgeRefusal {
  readonly param: string;
  readonly message: string;
  readonly code: string | null;
}

/** A body of the other API. */
export interface BridgedBody {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** A header, and a name to add to its list, beside the caller's. */
  readonly listed?: readonly [header: string, name: string] | undefined;
  readonly body: Uint8Array;
  /** Reads the answer to this body. */
  readonly reader: AnswerReader;
  /** What the body says differently from the chat body, as codes for the report. */
  readonly notices: readonly string[];
}

/** An answer that came as one JSON value. */
export interface BridgedAnswer {
  /** A chat completion, or an error in OpenAI's form. */
  readonly body: Uint8Array;
  /** An upstream may report an error with the status 200. */
  readonly status: number;
  /** Absent if the body is no error. */
  readonly fault?: AnswerFault | undefined;
  /** Undefined if the answer is not complete. */
  readonly kept?: CompleteAnswer | undefined;
}

/** Writes an answer of the other API as a chat answer. */
export interface AnswerReader {
  /** Takes a successful answer that is no stream. */
  answer(json: Uint8Array): BridgedAnswer;
  /** The body of an error, in OpenAI's form and the upstream's words. */
  error(body: Uint8Array, status: number): Uint8Array;
  /** The last event may hold the whole answer, so its frames must be read up to 16 MiB. */
  stream(): BridgedStream;
}

/** Writes a stream of the other API as a stream of chat chunks. */
export interface BridgedStream {
  /** Takes a frame; returns frames of chat, or nothing. Comments pass. */
  push(frame: Frame): string;
  /** Whether the caller has been given anything of the answer, beside its role. */
  readonly hasBegun: boolean;
  /** The error in place of an answer of which nothing has been given. */
  readonly refusal: BridgedAnswer | undefined;
  /** Known once `push` has returned the finish chunk. Undefined if the answer is not complete. */
  readonly kept: CompleteAnswer | undefined;
}

/** What a body depends on, beside the chat body. */
export interface BridgeOptions {
  /** Whether the caller asks for `reasoning_content` and `reasoning_details`. */
  readonly showsReasoning: boolean;
  /** Whether the upstream has refused reasoning: what callers echo of it is left out. */
  readonly leavesOutReasoning?: boolean;
  /** Whether the upstream looks for reasoning by its id: it is sent without. */
  readonly leavesOutIds?: boolean;
  /** Whether the upstream has refused to enforce the schemas of tools: none is strict. */
  readonly leavesOutStrict?: boolean;
  /** The most tokens of an answer, where the upstream has said so. */
  readonly longestAnswer?: number | undefined;
  /** Whether Precis may mark what the prompt cache keeps, where the chat body has no mark. */
  readonly marksCache?: boolean;
  /** Whether usage is asked for, but not by the caller: only a chunk with usage has the member. */
  readonly hidesUsage?: boolean;
  /** In seconds, for the answer of an API that states no time. */
  readonly now?: () => number;
  /** SHA-256 in hexadecimal. */
  readonly sha256: (text: string) => string;
}

/** One of the APIs that a chat request can be sent over. */
export interface Bridge {
  readonly api: BridgedApi;
  /** Names what keeps a request on chat; undefined if it can be bridged. */
  obstacle(chat: ChatBody): string | undefined;
  /** Writes the body of the other API. */
  body(chat: ChatBody, kept: KeptOutputs, options: BridgeOptions): BridgedBody | BridgeRefusal;
}
