/** Answers of the Responses API in chat's form. */
import { asObject, isObject, type JsonObject, parseObject } from '../../../lib/json.ts';
import { FrameSplitter } from '../../answers/sse.ts';
import { GatheredMessage } from '../../chat/calls.ts';
import { isError, lastEvent } from '../../responses/stream.ts';
import type { AnswerReader, BridgedAnswer, BridgedStream } from '../bridge.ts';
import { AnswerDeltas, type Piece } from './deltas.ts';
import { errorBody, failure } from './errors.ts';
import { type Asked, finishOf, headOf, keptOutput, outputIn, unpacked, usageFrom } from './items.ts';
import { ChatFromResponses } from './stream.ts';

/** Reads the answer to one body. */
export class ResponsesReader implements AnswerReader {
  private readonly asked: Asked;

  constructor(asked: Asked) {
    this.asked = asked;
  }

  answer(json: Uint8Array): BridgedAnswer {
    const response = responseIn(json);
    const output = response && outputIn(response);
    const { status } = response ?? {};
    if (!response || !output || status === 'failed' || status === 'cancelled') return failed(response);
    const deltas = new AnswerDeltas(this.asked);
    const pieces = deltas.takeOutput(output);
    const message = { index: 0, ...messageOf(pieces), finish_reason: finishOf(response, deltas.calls) };
    const { id, created, ...head } = headOf(response);
    const usage = usageFrom(response.usage);
    const completion = {
      ...{ id, object: 'chat.completion', created, ...head },
      choices: [message],
      ...(usage ? { usage } : {}),
    };
    const items = output.flatMap((item) => unpacked(item, this.asked));
    const kept = status === 'incomplete' ? undefined : keptOutput(items, this.asked);
    return { body: bytesOf(completion), status: 200, kept };
  }

  error(body: Uint8Array, status: number): Uint8Array {
    return errorBody(body, status);
  }

  stream(): BridgedStream {
    return new ChatFromResponses(this.asked);
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

function bytesOf(value: JsonObject): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

/** A response in JSON, or in the last event of a stream, for upstreams that only stream. */
function responseIn(bytes: Uint8Array): JsonObject | undefined {
  const whole = parseObject(decoder.decode(bytes));
  if (whole) return whole;
  const splitter = new FrameSplitter(bytes.length);
  const frames = splitter.push(bytes);
  const left = splitter.last();
  const all = left ? [...frames, left] : frames;
  const error = all.find(({ json }) => isError(json));
  if (error) return asObject(error.json);
  const response = all.map(lastEvent).find(Boolean)?.response;
  if (!isObject(response) || outputIn(response)?.length) return isObject(response) ? response : undefined;
  const events = all.map(({ json }) => asObject(json));
  const ended = events.filter(({ type }) => type === 'response.output_item.done');
  return { ...response, output: ended.map(({ item }) => item) };
}

const NO_OUTPUT = { message: 'The upstream sent an answer without output.' };

/** A gateway may report an error as an answer; one without any output is none. */
function failed(response: JsonObject | undefined): BridgedAnswer {
  const isSaid = response?.status === 'failed' || isError(response);
  const { fault, status } = failure(isSaid ? asObject(response) : { error: NO_OUTPUT });
  return { body: bytesOf({ error: fault }), status: isSaid ? status : 502 };
}

/** The message of all deltas, and the probabilities beside it. Each call is one delta. */
function messageOf(pieces: readonly Piece[]): JsonObject {
  const gathered = new GatheredMessage();
  for (const { delta } of pieces) gathered.add(delta);
  const { content = null, refusal = null, ...others } = gathered.fields;
  const calls = pieces.flatMap(({ delta: { tool_calls } }) => (Array.isArray(tool_calls) ? tool_calls : []));
  const tokens = pieces.flatMap(({ beside }) => asObject(beside?.logprobs).content ?? []);
  return {
    message: {
      ...{ role: 'assistant', content, refusal, ...others },
      ...(calls.length > 0 ? { tool_calls: calls.map(({ index: _, ...call }) => call) } : {}),
    },
    logprobs: tokens.length > 0 ? { content: tokens, refusal: null } : null,
  };
}
