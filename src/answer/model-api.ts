/** A protocol: how to read its requests, where to send them, and how to relay its answers. */
import type { Result } from '../lib/result.ts';
import type { AnswerFormat } from '../protocol/answers/answer-format.ts';
import type { Frame } from '../protocol/answers/sse.ts';
import type { BodyFault } from '../protocol/body.ts';
import type { SharedArray } from '../protocol/known-array.ts';
import type { ModelRequest } from '../protocol/model-request.ts';
import type { Compaction } from '../view/compaction.ts';

export interface ModelApi<Read extends ModelRequest = ModelRequest> {
  /** Below the upstream's base URL. */
  readonly path: string;
  /** The field that holds the conversation. */
  readonly field: ModelRequest['conversationField'];
  readonly answers: AnswerFormat;
  read(bytes: Uint8Array, shared?: SharedArray): Result<Read, BodyFault>;
  /**
   * Answers a request for a compaction, where the protocol has them.
   *
   * @param inBody whether the body includes the report
   */
  compaction?(request: ModelRequest, inBody: boolean): CompactionWriter;
}

/** The answer to one request for a compaction. */
interface CompactionWriter {
  /** An event that comes before the compaction, as a sign of life. */
  keepalive(): Frame;
  /** The response, or what of it comes after those events. */
  response(compaction: Compaction): Response;
}
