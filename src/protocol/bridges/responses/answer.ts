/** An answer of the Responses API in chat's form. */
import { asNumber, asObject, asString, isObject, type JsonObject, parseObject } from '../../../lib/json.ts';
import type { AnswerFault } from '../../answers/answer-format.ts';
import { saidFault } from '../../answers/said-fault.ts';
import type { Frame } from '../../answers/sse.ts';
import { isError, lastEvent } from '../../responses/stream.ts';
import { OPENS } from '../../responses/stream-items.ts';
import type { AnswerWriter } from '../answer-writer.ts';
import { says } from '../chat-fields.ts';
import { AnswerFeed } from '../feed.ts';
import { AnswerDeltas } from './deltas.ts';
import { type Asked, keptOutput, outputIn, unpacked, usageFrom } from './items.ts';

/** Statuses that are worse than `completed`. Any other may be the one that it began with. */
const WORSE: ReadonlySet<unknown> = new Set(['incomplete', 'failed', 'cancelled']);

const NO_OUTPUT = 'The upstream sent an answer without output.';
const NOT_COMPLETE = 'The upstream sent an answer that is not complete: its status is ';

/** Reads one answer. Nothing is written before the response has any content. */
export class ResponseFeed extends AnswerFeed {
  private readonly asked: Asked;
  private readonly deltas: AnswerDeltas;
  private opened: JsonObject | undefined;

  constructor(asked: Asked, writer: AnswerWriter) {
    super(writer);
    this.asked = asked;
    this.deltas = new AnswerDeltas(asked, writer);
  }

  whole(json: Uint8Array): void {
    const response = parseObject(new TextDecoder().decode(json));
    if (!response) return;
    const { reason } = asObject(response.incomplete_details);
    const status = response.status ?? (says(reason) ? 'incomplete' : 'completed');
    if (isError(response)) this.fail(...failureIn(response));
    else if (status !== 'failed' && !outputIn(response)) this.fail(saidFault({ error: NO_OUTPUT }), 502);
    else this.ended({ ...response, status });
  }

  protected take(event: JsonObject, frame: Frame): void {
    const type = asString(event.type);
    const response = asObject(event.response);
    if (isError(event)) this.fail(...failureIn(event));
    else if (lastEvent(frame)) {
      const status = type.slice('response.'.length).replace('done', 'completed');
      const isWorse = status === 'completed' && WORSE.has(response.status);
      this.ended(isWorse ? response : { ...response, status });
    } else if (OPENS.has(type)) {
      if (!this.opened && isObject(event.response)) this.open(response);
    } else if (type.startsWith('response.')) {
      this.writer.begin();
      this.deltas.take({ type, fields: event, data: frame.data ?? '', frame });
    }
  }

  private open(response: JsonObject): void {
    this.opened = response;
    this.writer.open(response, Math.floor(asNumber(response.created_at)));
  }

  private ended(response: JsonObject): void {
    const { status, error } = response;
    if (status === 'failed' || says(error)) this.fail(...failureIn(response));
    else if (status === 'incomplete' || status === 'completed') this.say(response, status === 'incomplete');
    else this.fail(saidFault({ error: `${NOT_COMPLETE}${status}.` }), 502);
  }

  private say(response: JsonObject, isCut: boolean): void {
    // Chunks have one id, even if the upstream's last event has another one.
    const { id, created_at } = { ...response, ...this.opened };
    this.open({ ...this.opened, ...response, id, created_at });
    const output = this.deltas.takeOutput(outputIn(response) ?? [], isCut);
    const items = output.flatMap((item) => unpacked(item, this.asked));
    const usage = usageFrom(response.usage);
    const { reason } = asObject(response.incomplete_details);
    if (isCut) this.finish(usage, undefined, reason === 'content_filter' ? reason : 'length');
    else this.finish(usage, keptOutput(items, this.asked));
  }
}

/** Codes of a failed response by which the caller has to change its request. */
const LASTING = /^(?:invalid_|context_length_exceeded$|bio_policy$|cyber_policy$)|image/;

const LIMITS: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'insufficient_quota']);

const TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [429, 'rate_limit_error'],
]);

/** The error of a response that has failed, or of an event, and its status of HTTP in chat. */
function failureIn(said: JsonObject): [fault: AnswerFault, status: number] {
  const { type: event, sequence_number: _, ...fields } = said;
  const found = fields.error ?? (event === 'error' ? fields : {});
  const error = typeof found === 'string' ? { message: found } : asObject(found);
  const code = asString(error.code);
  const [ofType = 500] = [...TYPES].find(([, known]) => known === error.type) ?? [];
  const status = LIMITS.has(code) ? 429 : LASTING.test(code) ? 400 : ofType;
  const type = TYPES.get(status) ?? 'server_error';
  return [saidFault({ error: { type, ...error } }), status];
}
