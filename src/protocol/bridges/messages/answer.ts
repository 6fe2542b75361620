/**
 * An answer of Messages as a chat completion
 * (https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons).
 */
import { asObject, asString, isObject, type JsonObject, parseObject } from '../../../lib/json.ts';
import { saidFault } from '../../answers/said-fault.ts';
import { type JsonSpan, levels } from '../../json/outline.ts';
import { fieldOf, jsonOf, scanObject, textOf } from '../../json/spans.ts';
import { statusOf } from '../../messages/errors.ts';
import type { AnswerReader, BridgedAnswer } from '../bridge.ts';
import {
  callOf,
  finishOf,
  headOf,
  isComplete,
  keptOf,
  type Reading,
  refusalIn,
  seam,
  usageOf,
} from './said.ts';
import { MessageChunks } from './stream.ts';
import { detailOf } from './thinking.ts';

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export class MessagesReader implements AnswerReader {
  private readonly reading: Reading;

  constructor(reading: Reading) {
    this.reading = reading;
  }

  answer(json: Uint8Array): BridgedAnswer {
    const root = scanObject(json, levels(3));
    const content = root && fieldOf(root, 'content')?.value;
    if (!root || content?.items === undefined) {
      const error = parseObject(decoder.decode(json))?.error;
      const status = isObject(error) ? statusOf(error.type) : 502;
      return { body: this.error(json, status), status };
    }
    const message = jsonOf(json, root) as JsonObject;
    const blocks = content.items.map((item) => readBlock(json, item));
    const body = encoder.encode(JSON.stringify(completionOf(message, blocks, this.reading)));
    const isWhole = isComplete(message.stop_reason);
    return { body, status: 200, kept: isWhole ? keptOf(textOf(json, content)) : undefined };
  }

  /** The error in OpenAI's form. The upstream's type and words stay. */
  error(body: Uint8Array, status: number): Uint8Array {
    const text = decoder.decode(body);
    const words = text.trim() || `The upstream answered with status ${status}.`;
    return encoder.encode(JSON.stringify({ error: saidFault(parseObject(text) ?? {}, words) }));
  }

  stream(): MessageChunks {
    return new MessageChunks(this.reading);
  }
}

/** A block of an answer, with the bytes of a call's input. */
export interface ReadBlock {
  readonly value: JsonObject;
  readonly input: string;
}

function readBlock(json: Uint8Array, span: JsonSpan): ReadBlock {
  const input = fieldOf(span, 'input')?.value;
  return { value: asObject(jsonOf(json, span)), input: input ? textOf(json, input) : '{}' };
}

function completionOf(message: JsonObject, blocks: readonly ReadBlock[], reading: Reading): JsonObject {
  const { usage, stop_reason, stop_details } = message;
  const calls = blocks.filter(({ value }) => value.type === 'tool_use');
  const said = {
    role: 'assistant',
    content: textIn(blocks),
    refusal: refusalIn(stop_reason, stop_details),
    ...(calls.length > 0
      ? { tool_calls: calls.map(({ value, input }) => callOf(value, input, reading)) }
      : {}),
    ...(reading.options.showsReasoning ? reasoningIn(blocks) : {}),
  };
  const choice = { index: 0, message: said, logprobs: null, finish_reason: finishOf(stop_reason) };
  const { id, created, model, ...head } = headOf(message, reading);
  const counted = usageOf(usage);
  return {
    ...{ id, object: 'chat.completion', created, model, choices: [choice] },
    ...(counted ? { usage: counted } : {}),
    ...head,
  };
}

function textIn(blocks: readonly ReadBlock[]): string | null {
  let text: string | null = null;
  for (const [at, { value }] of blocks.entries())
    if (value.type === 'text')
      text = `${text ?? ''}${seam(blocks[at - 1]?.value.type, (text ?? '') !== '')}${asString(value.text)}`;
  return text;
}

function reasoningIn(blocks: readonly ReadBlock[]): JsonObject {
  const details = blocks
    .map(({ value }) => value)
    .filter((block) => detailOf(block, 0) !== undefined)
    .map(detailOf);
  const texts = blocks.flatMap(({ value }) => asString(value.thinking) || []);
  return {
    ...(texts.length > 0 ? { reasoning_content: texts.join('\n\n') } : {}),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
  };
}
