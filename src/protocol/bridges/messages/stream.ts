/**
 * A stream of Messages as chat chunks
 * (https://platform.claude.com/docs/en/build-with-claude/streaming).
 */
import { asObject, asString, type JsonObject, parseJson } from '../../../lib/json.ts';
import { saidFault } from '../../answers/said-fault.ts';
import { type Frame, KEEPALIVE } from '../../answers/sse.ts';
import { statusOf } from '../../messages/errors.ts';
import { errorIn } from '../../messages/failed.ts';
import { usageWith } from '../../messages/usage.ts';
import type { BridgedStream, KeptOutput } from '../bridge.ts';
import type { AnswerWriter } from '../chunks.ts';
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
import { detailOf } from './thinking.ts';

/**
 * A pause comes with tools that the API runs, which no chat body asks for, and ends once the answer
 * is sent back. Chat has no word for that, and each of its reasons would end the answer.
 */
const PAUSED = 'The model has paused its turn, and an answer over chat cannot be continued.';

/** A block that is being written. */
interface OpenBlock {
  /** As it has begun, with the texts so far. */
  value: JsonObject;
  /** The input of a call so far, as JSON. */
  input: string;
  /** Among the calls; or among the blocks of thinking. */
  readonly place: number;
}

type Frames = readonly Uint8Array[];

export class MessageChunks implements BridgedStream {
  kept: KeptOutput | undefined;
  private readonly reading: Reading;
  private readonly writer: AnswerWriter;
  /** By `index`, in which the API numbers them. */
  private readonly blocks = new Map<unknown, OpenBlock>();
  private usage: JsonObject | undefined;
  private stop: JsonObject = {};
  private hasText = false;
  private hasThoughts = false;
  private before: unknown;
  private isOver = false;

  constructor(reading: Reading, writer: AnswerWriter) {
    this.reading = reading;
    this.writer = writer;
  }

  push(frame: Frame): Frames {
    if (this.isOver) return [];
    return frame.data === undefined ? [frame.bytes] : this.take(asObject(frame.json));
  }

  /** Takes an event. */
  take(event: JsonObject): Frames {
    if (errorIn(event) !== undefined) return this.fail(event);
    switch (event.type) {
      case 'ping':
        return [KEEPALIVE];
      case 'message_start':
        return this.begin(asObject(event.message));
      case 'content_block_start':
        return this.open(event.index, asObject(event.content_block));
      case 'content_block_delta':
        return this.add(this.blocks.get(event.index), asObject(event.delta));
      case 'content_block_stop':
        return this.close(this.blocks.get(event.index));
      case 'message_delta':
        return this.note(event);
      case 'message_stop':
        return this.finish();
      default:
        return [];
    }
  }

  /** A stream that breaks off has no finish chunk, which says all: see `ChatStream`. */
  end(): Frames {
    return [];
  }

  private fail(event: JsonObject): Frames {
    this.isOver = true;
    const fault = saidFault(event);
    return this.writer.error(fault, statusOf(fault.type));
  }

  private begin(message: JsonObject): Frames {
    this.usage = usageWith(this.usage, message.usage);
    this.writer.open(headOf(message, this.reading));
    return this.writer.begin();
  }

  private open(index: unknown, value: JsonObject): Frames {
    const { type } = value;
    const place = [...this.blocks.values()].filter((block) => kindOf(block.value) === kindOf(value)).length;
    const block: OpenBlock = { value, input: '', place };
    this.blocks.set(index, block);
    const { before } = this;
    this.before = type;
    if (type === 'tool_use')
      return this.writer.delta({ tool_calls: [{ index: place, ...callOf(value, '', this.reading) }] });
    if (type === 'text') return this.say(seam(before, this.hasText) + asString(value.text));
    return type === 'thinking' ? this.think(asString(value.thinking), true) : [];
  }

  private add(block: OpenBlock | undefined, delta: JsonObject): Frames {
    if (!block) return [];
    const { value } = block;
    const more = (name: string): string => {
      const piece = asString(delta[name]);
      block.value = { ...block.value, [name]: asString(block.value[name]) + piece };
      return piece;
    };
    switch (delta.type) {
      case 'text_delta':
        return this.say(more('text'));
      case 'thinking_delta':
        return this.think(more('thinking'), asString(value.thinking) === '');
      case 'signature_delta':
        more('signature');
        return [];
      case 'citations_delta': {
        const known = Array.isArray(value.citations) ? value.citations : [];
        block.value = { ...value, citations: [...known, delta.citation] };
        return [];
      }
      case 'input_json_delta': {
        const piece = asString(delta.partial_json);
        block.input += piece;
        return value.type === 'tool_use' ? this.argue(block, piece) : [];
      }
      default:
        return [];
    }
  }

  /** A call without deltas has all of its input in its first event. */
  private close(block: OpenBlock | undefined): Frames {
    if (!block) return [];
    const { value, place } = block;
    if (value.type === 'tool_use' && block.input === '') {
      block.input = JSON.stringify(value.input ?? {});
      return this.argue(block, block.input);
    }
    const detail = this.reading.options.showsReasoning ? detailOf(value, place) : undefined;
    return detail ? this.writer.delta({ reasoning_details: [detail] }) : [];
  }

  private note({ delta, usage }: JsonObject): Frames {
    this.usage = usageWith(this.usage, usage);
    this.stop = { ...this.stop, ...asObject(delta) };
    return [];
  }

  private finish(): Frames {
    this.isOver = true;
    const { stop_reason, stop_details } = this.stop;
    if (stop_reason === 'pause_turn') return this.writer.error(saidFault({ error: PAUSED }), 502);
    const json = `[${[...this.blocks.values()].map(jsonOf).join(',')}]`;
    // What a call has as its input need not be JSON.
    if (isComplete(stop_reason) && parseJson(json) !== undefined) this.kept = keptOf(json);
    const refusal = refusalIn(stop_reason, stop_details);
    const refused = refusal === null ? [] : this.writer.delta({ refusal });
    return [...refused, ...this.writer.finish(finishOf(stop_reason), usageOf(this.usage))];
  }

  private say(text: string): Frames {
    this.hasText ||= text !== '';
    return text === '' ? [] : this.writer.delta({ content: text });
  }

  private argue({ place }: OpenBlock, piece: string): Frames {
    return piece === ''
      ? []
      : this.writer.delta({ tool_calls: [{ index: place, function: { arguments: piece } }] });
  }

  /** @param isFirst whether nothing of the block has been said */
  private think(text: string, isFirst: boolean): Frames {
    if (text === '' || !this.reading.options.showsReasoning) return [];
    const said = isFirst && this.hasThoughts ? `\n\n${text}` : text;
    this.hasThoughts = true;
    return this.writer.delta({ reasoning_content: said });
  }
}

/** Blocks of a kind are numbered together. */
function kindOf({ type }: JsonObject): unknown {
  return type === 'redacted_thinking' ? 'thinking' : type;
}

/** A whole block, with the bytes of its input. */
function jsonOf({ value, input }: OpenBlock): string {
  if (input === '') return JSON.stringify(value);
  const { input: _, ...rest } = value;
  return `${JSON.stringify(rest).slice(0, -1)},"input":${input}}`;
}
