/**
 * Joins several streamed answers of a model into the one that the caller sees. Calls of our tools
 * are removed, and each answer continues where the one before it stopped: its blocks go on with the
 * caller's numbers. The caller sees `message_start` of the first answer, and `message_delta` and
 * `message_stop` of the last. Signs of life pass in all of them.
 *
 * Events pass with their bytes unchanged until a block has another number. The name of a call comes
 * with its first event, so nothing has to wait. `BlockSorter` has the rules for calls and thinking.
 *
 * Where the answer must be JSON, several texts in a row are none. Then all events wait from the
 * first text on, until it is known whether the turn is answered here. If it is, its texts are
 * hidden.
 */
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { JoinedStreams, SaidAnswer } from '../answers/answer-format.ts';
import { WaitingStreams } from '../answers/joined-answers.ts';
import { Frame } from '../answers/sse.ts';
import type { ToolTurn } from '../answers/tool-turn.ts';
import { MESSAGES_USAGE, type Usage, UsageTally } from '../answers/usage.ts';
import { GatheredBlock, NOTHING_SAID } from './answer-blocks.ts';
import { BlockSorter, isSaid, isWhole, messageJson, turnOf } from './calls.ts';
import { errorIn } from './errors.ts';
import { JoinedFields } from './joined-fields.ts';
import { plainDelta } from './plain-delta.ts';
import { usageWith } from './usage.ts';

/** A block of the current answer. */
interface StreamedBlock {
  readonly gathered: GatheredBlock;
  /** The index that the caller sees; undefined for a block that is not shown. */
  readonly index: number | undefined;
}

/** How the API writes an event of a block. */
const INDEX = /^(\{"type": ?"content_block_(?:start|delta|stop)", ?"index": ?)\d+/;

export class JoinedMessagesStreams extends WaitingStreams<Frame, BlockSorter> implements JoinedStreams {
  protected readonly tally = new UsageTally(MESSAGES_USAGE);
  /** Whether the caller has seen `message_start`. */
  private hasBegun = false;
  private blocks: StreamedBlock[] = [];
  /** The last block with each of the upstream's indices. */
  private readonly byIndex = new Map<unknown, StreamedBlock>();
  /** The caller's blocks of earlier answers. */
  private readonly earlier: GatheredBlock[] = [];
  /** Blocks that the caller has seen begin, in all answers. */
  private shown = 0;
  private stop: unknown;
  private hasFailed = false;
  private counted: Usage | undefined;
  private readonly fields = new JoinedFields();
  /** As `message_start` has reported it to the caller. */
  private transformed: unknown;

  get turn(): ToolTurn | undefined {
    if (!this.isThrough) return undefined;
    const blocks = this.blocks.map(({ gathered }) => gathered);
    return turnOf(blocks, this.sorter, this.fields.container);
  }

  forget(): void {
    this.isForgotten = true;
    for (const { gathered } of this.blocks) gathered.forget();
    for (const gathered of this.earlier) gathered.forget();
  }

  get said(): SaidAnswer | undefined {
    if (this.isForgotten || this.isTurn || this.hasFailed || !isSaid(this.stop)) return undefined;
    return { json: messageJson(this.seen.map(({ json }) => json)), isVerbatim: true };
  }

  begin(): void {
    this.earlier.push(...this.callerBlocks());
    this.goOn();
    this.fields.begin();
    this.blocks = [];
    this.byIndex.clear();
    this.stop = undefined;
    this.counted = undefined;
  }

  protected newSorter(): BlockSorter {
    return new BlockSorter(this.names, this.mayAnswer, this.signs);
  }

  take(frame: Frame): Frame[] {
    // Nothing that comes after an error is a part of the answer.
    if (this.hasFailed) return [];
    this.hasFailed = (frame.data ?? '').includes('"error"') && errorIn(frame.json) !== undefined;
    if (this.hasFailed) return [...this.release(), frame];
    if (this.isForgotten && this.waiting.length > 0) return [...this.release(), ...this.taken(frame)];
    if (!this.withholds || this.scout.isCallers || frame.data === undefined) return this.taken(frame);
    const { type, content_block, delta } = asObject(frame.json);
    const [block, { stop_reason }] = [asObject(content_block), asObject(delta)];
    if (type === 'content_block_start') this.scout.shows(block);
    if (typeof stop_reason === 'string')
      return [...this.settled(this.scout.isOurs && isWhole(stop_reason)), ...this.taken(frame)];
    if (type === 'message_stop' || this.scout.isCallers) return [...this.release(), ...this.taken(frame)];
    const waits = type !== 'ping' && (this.waiting.length > 0 || block.type === 'text');
    if (!waits) return this.taken(frame);
    this.waiting.push(frame);
    return [];
  }

  release(): Frame[] {
    return this.settled(this.scout.isOurs);
  }

  protected taken(frame: Frame): Frame[] {
    const plain = plainDelta(frame.data);
    const open = plain && this.byIndex.get(plain.index);
    if (open) {
      if (!this.isForgotten) open.gathered.addText(plain.text);
      return this.callerFrames(open, frame, plain.index);
    }
    const event = asObject(frame.json);
    switch (event.type) {
      case 'message_start':
        return this.messageStart(event, frame);
      case 'content_block_start':
        return this.callerFrames(this.begun(event, asObject(event.content_block)), frame, event.index);
      case 'content_block_delta':
      case 'content_block_stop':
        return this.ofBlock(event, frame);
      case 'message_delta':
        return this.messageDelta(event, frame);
      case 'message_stop':
        // Some gateways give no reason.
        if (this.sorter.isOurs) this.stop ??= 'end_turn';
        this.isThrough = this.isTurn;
        return this.isThrough ? [] : [frame];
      default:
        return [frame];
    }
  }

  /** Whether the answer is a turn that is answered here, as far as is known yet. */
  private get goesOn(): boolean {
    return this.sorter.isOurs && (this.stop === undefined || this.isTurn);
  }

  private get isTurn(): boolean {
    return this.sorter.isOurs && isWhole(this.stop);
  }

  private callerBlocks(): GatheredBlock[] {
    return this.blocks.flatMap(({ gathered, index }) => (index === undefined ? [] : [gathered]));
  }

  /** The caller's blocks of all answers. */
  private get seen(): readonly GatheredBlock[] {
    return [...this.earlier, ...this.callerBlocks()];
  }

  private messageStart(event: JsonObject, frame: Frame): Frame[] {
    const message = asObject(event.message);
    this.count(message.usage);
    this.fields.take(message);
    const isAnother = this.hasBegun && this.isLater;
    this.hasBegun = true;
    if (!isAnother) this.transformed = message.input_transformations;
    return isAnother ? [] : [frame];
  }

  /** Begins a block. @param start what is known of it */
  private begun({ index }: JsonObject, start: JsonObject): StreamedBlock {
    const isShown = this.sorter.shows(start);
    const block = { gathered: new GatheredBlock(start), index: isShown ? this.shown++ : undefined };
    this.blocks.push(block);
    this.byIndex.set(index, block);
    return block;
  }

  private ofBlock(event: JsonObject, frame: Frame): Frame[] {
    const block = this.byIndex.get(event.index) ?? this.begun(event, {});
    if (!this.isForgotten) block.gathered.add(asObject(event.delta));
    return this.callerFrames(block, frame, event.index);
  }

  /** @param index the upstream's */
  private callerFrames(block: StreamedBlock, frame: Frame, index: unknown): Frame[] {
    if (block.index === undefined) return [];
    if (block.index === index || typeof index !== 'number') return [frame];
    const { data = '' } = frame;
    const fields = INDEX.test(data) ? undefined : asObject(frame.json);
    const type = fields?.type ?? /"(content_block_\w+)"/.exec(data)?.[1];
    const moved = fields
      ? JSON.stringify({ ...fields, index: block.index })
      : data.replace(INDEX, `$1${block.index}`);
    return [Frame.of(moved, typeof type === 'string' ? type : undefined)];
  }

  /** Takes the event before the last one. It reports the usage of all answers. */
  private messageDelta(event: JsonObject, frame: Frame): Frame[] {
    this.count(event.usage);
    const delta = asObject(event.delta);
    this.fields.take({ ...event, ...delta });
    this.stop = delta.stop_reason ?? this.stop;
    if (this.goesOn) return [];
    const said = this.nothingSaid(delta.stop_reason);
    const hasStopped = this.sorter.hidesCalls && delta.stop_reason === 'tool_use';
    if (!this.isLater && !hasStopped) return [...said, frame];
    const usage = this.isLater ? this.tally.forCaller : event.usage;
    const { container, ...fields } = this.isLater ? this.joinedFields : {};
    const joined = {
      ...event,
      delta: {
        ...delta,
        ...(container === undefined ? {} : { container }),
        ...(hasStopped ? { stop_reason: 'end_turn' } : {}),
      },
      ...fields,
      ...(usage === undefined ? {} : { usage }),
    };
    return [...said, Frame.of(JSON.stringify(joined), 'message_delta')];
  }

  /** The fields of all answers as `message_delta` has them. It repeats only what has changed. */
  private get joinedFields(): JsonObject {
    const { input_transformations: changes, ...others } = this.fields.joined;
    const isNew = changes !== undefined && JSON.stringify(changes) !== JSON.stringify(this.transformed);
    return isNew ? { ...others, input_transformations: changes } : others;
  }

  /** The only block of an answer that would have none. */
  private nothingSaid(stop: unknown): Frame[] {
    const seen = () => this.seen.map(({ block }) => block);
    if (!this.sorter.saysNothing(seen, stop)) return [];
    const index = this.shown++;
    this.blocks.push({ gathered: new GatheredBlock(NOTHING_SAID), index });
    const { text, ...start } = NOTHING_SAID;
    const events = [
      { type: 'content_block_start', index, content_block: { ...start, text: '' } },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index },
    ];
    return events.map((event) => Frame.of(JSON.stringify(event), event.type));
  }

  private count(usage: unknown): void {
    this.counted = usageWith(this.counted, usage);
    this.tally.count(this.counted);
  }
}
