/**
 * An answer of Messages in chat's form
 * (https://platform.claude.com/docs/en/build-with-claude/streaming).
 */
import { asObject, asString, isObject, type JsonObject, parseObject } from '../../../lib/json.ts';
import { bodyFault, saidFault } from '../../answers/said-fault.ts';
import { isThinking } from '../../chat/reasoning.ts';
import { levels } from '../../json/outline.ts';
import { fieldOf, jsonOf, scanObject, textOf } from '../../json/spans.ts';
import { GatheredBlock, isBlank } from '../../messages/answer-blocks.ts';
import { isSaid } from '../../messages/calls.ts';
import { errorIn, statusOf } from '../../messages/errors.ts';
import { runUsageOf, usageWith } from '../../messages/usage.ts';
import type { AnswerWriter } from '../answer-writer.ts';
import type { KeptOutput } from '../bridge.ts';
import { member, saying, type Writing } from '../chat-fields.ts';
import { AnswerFeed } from '../feed.ts';
import { detailOf } from './thinking.ts';

/** What an answer is read with. */
type Reading = Pick<Writing, 'names' | 'options'>;

/** A block that is being written, and the index of its call. */
interface OpenBlock {
  readonly gathered: GatheredBlock;
  readonly call: number | undefined;
  isClosed: boolean;
}

/** By the type of a delta, the block that some servers begin with it. */
const BEGUN = new Map<unknown, JsonObject>([
  ['text_delta', { type: 'text', text: '' }],
  ['thinking_delta', { type: 'thinking', thinking: '' }],
]);

/** Reasons for which chat has another word than `stop`. */
const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/**
 * A pause comes with tools that the API runs, which no chat body asks for, and ends once the answer
 * is sent back. Chat has no word for that, and each of its reasons would end the answer.
 */
const PAUSED = 'The model has paused its turn, and an answer over chat cannot be continued.';
const REFUSED = 'The API refused to answer this request.';

export class MessageFeed extends AnswerFeed {
  private readonly reading: Reading;
  private readonly blocks: OpenBlock[] = [];
  /** The last one with each `index`, by which the API numbers them. */
  private readonly byIndex = new Map<unknown, OpenBlock>();
  private usage: JsonObject | undefined;
  private stop: JsonObject = {};
  /** Whether the next text is no part of the one before. Citations divide a text into blocks. */
  private isNext = false;
  private before: unknown;

  constructor(reading: Reading, writer: AnswerWriter) {
    super(writer);
    this.reading = reading;
  }

  /** A call has the bytes of its input; one that is cut short is none. */
  whole(json: Uint8Array): void {
    const root = scanObject(json, levels(3));
    const content = root && fieldOf(root, 'content');
    if (!root || content?.items === undefined) {
      const text = new TextDecoder().decode(json);
      const error = parseObject(text)?.error;
      const status = isObject(error) ? statusOf(error.type) : 502;
      this.fail(bodyFault(text, status), status);
      return;
    }
    const { stop_reason, stop_details, ...message } = jsonOf(json, root) as JsonObject;
    this.take({ type: 'message_start', message });
    for (const [index, item] of content.items.entries()) {
      const content_block = asObject(jsonOf(json, item));
      const isLast = index === content.items.length - 1;
      if (content_block.type === 'tool_use' && isLast && REASONS.get(stop_reason) === 'length') break;
      const input = fieldOf(item, 'input');
      this.take({ type: 'content_block_start', index, content_block });
      const delta = input && { type: 'input_json_delta', partial_json: textOf(json, input) };
      if (delta) this.take({ type: 'content_block_delta', index, delta });
      this.take({ type: 'content_block_stop', index });
    }
    this.take({ type: 'message_delta', delta: { stop_reason, stop_details } });
    this.take({ type: 'message_stop' });
  }

  protected take(event: JsonObject): void {
    const { type, index } = event;
    if (errorIn(event) !== undefined) {
      const fault = saidFault(event);
      this.fail(fault, statusOf(fault.type));
    } else if (type === 'message_start') {
      const message = asObject(event.message);
      this.usage = usageWith(this.usage, message.usage);
      const service_tier = TIERS.get(asObject(message.usage).service_tier);
      // The API gives no time.
      this.writer.open({ ...message, service_tier }, this.reading.options.now?.() ?? 0);
      this.writer.begin();
    } else if (type === 'content_block_start') this.open(index, asObject(event.content_block));
    else if (type === 'content_block_delta') this.add(index, asObject(event.delta));
    else if (type === 'content_block_stop') this.close(this.byIndex.get(index));
    else if (type === 'message_stop') this.ended();
    else if (type === 'message_delta') {
      this.usage = usageWith(this.usage, event.usage);
      this.stop = { ...this.stop, ...asObject(event.delta) };
    }
  }

  private open(index: unknown, block: JsonObject): OpenBlock {
    const { type, id, name } = block;
    this.isNext ||= type === 'text' && this.before !== 'text';
    this.before = type;
    const long = this.reading.names.long(asString(name));
    const called = { id, type: 'function', name: long, input: '' } as const;
    const call = type === 'tool_use' ? this.writer.call(called) : undefined;
    const open = { gathered: new GatheredBlock(block), call, isClosed: false };
    this.blocks.push(open);
    this.byIndex.set(index, open);
    if (type === 'text') this.say(asString(block.text));
    if (type === 'thinking') this.writer.thought(asString(block.thinking), true);
    return open;
  }

  private add(index: unknown, delta: JsonObject): void {
    const begun = BEGUN.get(delta.type);
    const open = this.byIndex.get(index) ?? (begun && this.open(index, begun));
    if (!open) return;
    const { gathered, call } = open;
    if (delta.type === 'text_delta') this.say(asString(delta.text));
    if (delta.type === 'thinking_delta')
      this.writer.thought(asString(delta.thinking), asString(gathered.block.thinking) === '');
    // The first one may be empty.
    if (delta.partial_json === '') return;
    if (call !== undefined) this.writer.input(call, asString(delta.partial_json));
    gathered.add(delta);
  }

  /** A call without deltas has all of its input in its first event. */
  private close(open: OpenBlock | undefined): void {
    if (!open || open.isClosed) return;
    open.isClosed = true;
    const { gathered, call } = open;
    if (call !== undefined && this.writer.calls[call]?.input === '')
      this.writer.input(call, gathered.input ?? '{}');
    const detail = detailOf(gathered.block);
    if (detail) this.writer.detail(detail);
  }

  private say(text: string): void {
    this.writer.text(text, this.isNext);
    if (text !== '') this.isNext = false;
  }

  private ended(): void {
    const { stop_reason: reason, stop_details } = this.stop;
    if (reason === 'refusal')
      this.writer.say({ refusal: asString(asObject(stop_details).explanation) || REFUSED });
    for (const open of this.blocks) this.close(open);
    if (reason === 'pause_turn') this.fail(saidFault({ error: PAUSED }), 502);
    else this.finish(usageOf(this.usage), isSaid(reason) ? this.output() : undefined, REASONS.get(reason));
  }

  /** The blocks as the API takes them back; undefined if it would not. */
  private output(): KeptOutput | undefined {
    const blocks = this.blocks.map(({ gathered }) => gathered);
    const said = blocks.filter(({ block }) => typeof block.type === 'string' && !isBlank(block));
    const last = said.at(-1);
    // What a call has as its input need not be JSON.
    const isTaken = said.every(({ input = '{}' }) => parseObject(input) !== undefined);
    if (!isTaken || !last || isThinking(last.block)) return undefined;
    return { api: 'messages', json: `[${said.map(({ json }) => json).join(',')}]` };
  }
}

const TIERS: ReadonlyMap<unknown, string> = new Map(
  Object.entries({ standard: 'default', priority: 'priority' }),
);

/** The usage in chat's terms, where the prompt has all that was read. Absent stays absent. */
function usageOf(usage: unknown): JsonObject | undefined {
  const counted = isObject(usage) ? runUsageOf(usage) : undefined;
  if (!counted) return undefined;
  const { input, cached, cache_writes, output } = counted;
  const { thinking_tokens: thought } = asObject(asObject(usage).output_tokens_details);
  const total = input === null || output === null ? null : input + output;
  const details = saying({ cached_tokens: cached, cache_write_tokens: cache_writes });
  return {
    ...saying({ prompt_tokens: input, completion_tokens: output, total_tokens: total }),
    ...member('prompt_tokens_details', details),
    ...(typeof thought !== 'number' ? {} : { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}
