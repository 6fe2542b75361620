/**
 * The events of a response as deltas of a chat message. A whole item says what no event before it
 * has said, so an answer without a stream is made of its items alone, in the same way.
 */
import {
  asList,
  asNumber,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
  parseObject,
} from '../../../lib/json.ts';
import { withMovedCitations } from '../../chat/citations.ts';
import { indexOf, type KnownItem, type StreamEvent, StreamItems } from '../../responses/stream-items.ts';
import type { AnswerWriter } from '../answer-writer.ts';
import { type Asked, callId, callType, inputIn, isCall, isPack, partsOf, unpacked } from './items.ts';
import { ENCRYPTED_DETAIL } from './messages.ts';

interface SaidItem extends KnownItem {
  /** By kind and index of a part, the text that has been given out. */
  readonly said: Map<string, string>;
  /** By index of a part, where its text begins in the whole content, and its citations so far. */
  readonly parts: Map<number, { readonly start: number; citations: number }>;
  /** The index of its call among the answer's calls; undefined until the call is given out. */
  call: number | undefined;
}

type Kind = 'content' | 'refusal' | 'input' | 'thought';

/** By the name of an event, what its text is, and the members with its index and the whole text. */
const TEXTS: Readonly<Record<string, readonly [kind: Kind, index: string, whole: string]>> = {
  output_text: ['content', 'content_index', 'text'],
  refusal: ['refusal', 'content_index', 'refusal'],
  function_call_arguments: ['input', '', 'arguments'],
  custom_tool_call_input: ['input', '', 'input'],
  reasoning_summary_text: ['thought', 'summary_index', 'text'],
  reasoning_text: ['thought', 'content_index', 'text'],
  reasoning: ['thought', 'content_index', 'text'],
};

const OF_TEXT = /^response\.(\w+)\.(delta|done)$/;

/** Says one answer. */
export class AnswerDeltas {
  private readonly asked: Asked;
  private readonly writer: AnswerWriter;
  private readonly items = new StreamItems<SaidItem>();
  /** The last message with text. */
  private message: SaidItem | undefined;
  private isCut = false;

  constructor(asked: Asked, writer: AnswerWriter) {
    this.asked = asked;
    this.writer = writer;
  }

  /** Takes an event of the stream. One of an unknown type says nothing. */
  take(event: StreamEvent): void {
    const { type, fields } = event;
    const [, name = '', phase] = OF_TEXT.exec(type) ?? [];
    const text = TEXTS[name];
    const { item } = fields;
    if (text) this.takeText(event, text, phase === 'done');
    else if (type === 'response.output_text.annotation.added') {
      const state = this.items.find(event, {});
      if (state) this.cite(state, asNumber(fields.content_index), [fields.annotation]);
    } else if (!isObject(item)) return;
    else if (type === 'response.output_item.done') this.takeItem(event, item);
    else if (type === 'response.output_item.added' && !this.isKnown(event, item))
      this.opened(this.add(item, indexOf(event)));
  }

  /**
   * Takes the items of the whole answer: those that no event has ended say what is left.
   *
   * @param isCut whether the answer is cut short: then a call without whole arguments is none
   * @returns all items; none if what has been said is in none of them
   */
  takeOutput(output: readonly JsonObject[], isCut: boolean): readonly JsonObject[] {
    this.isCut = isCut;
    const { states } = this.items;
    const isStreamed = states.length > 0;
    const isSaid = states.length >= output.length && states.every(({ done }) => done);
    for (const [index, item] of isSaid ? [] : output.entries()) {
      const known = isStreamed ? this.items.findInOutput(index, item) : undefined;
      if (!known?.done) this.ended(known ?? this.add(item, undefined), item);
    }
    const { ended } = this.items;
    if (ended.length < states.length) return [];
    return ended.length > output.length ? ended : output;
  }

  private add(added: JsonObject, index: number | undefined): SaidItem {
    const state = stateOf(added);
    this.items.add(state, index);
    return state;
  }

  /** Whether an item is announced for the second time. */
  private isKnown(event: StreamEvent, item: JsonObject): boolean {
    const known = item.id === undefined ? undefined : this.items.find(event, item);
    return known?.added.id === item.id && known?.added.type === item.type;
  }

  /** Takes an item that has ended. One that ends for the second time says nothing. */
  private takeItem(event: StreamEvent, item: JsonObject): void {
    const known = this.items.find(event, item);
    if (known?.done && item.id !== undefined && known.done.id === item.id) return;
    const isOpen = known && !known.done && known.added.type === item.type;
    this.ended(isOpen ? known : this.add(item, indexOf(event)), item);
  }

  private takeText(event: StreamEvent, [kind, group, whole]: (typeof TEXTS)[string], isDone: boolean): void {
    const { fields } = event;
    // Upstreams that announce no message are known to stream its text.
    const isWord = kind === 'content' || kind === 'refusal';
    const found = this.items.find(event, {});
    const state = found ?? (isWord ? this.add({ type: 'message' }, indexOf(event)) : undefined);
    if (!state) return;
    const text = asString(isDone ? fields[whole] : fields.delta);
    const at = asNumber(fields[group]);
    this.say(state, { kind, at, group, text, isDone, logprobs: fields.logprobs });
  }

  private say(
    state: SaidItem,
    said: {
      readonly kind: Kind;
      readonly at: number;
      /** A summary and the reasoning itself count their parts alike: the name of that index. */
      readonly group: string;
      readonly text: string;
      readonly isDone: boolean;
      readonly logprobs?: unknown;
    },
  ): void {
    const { kind, at, group, text, isDone, logprobs } = said;
    if (kind === 'input' && state.call === undefined) return;
    const key = `${kind}:${group}:${at}`;
    const before = state.said.get(key) ?? '';
    const fresh = isDone ? restOf(text, before) : text;
    if (fresh === '') return;
    state.said.set(key, before + fresh);
    if (kind === 'content') this.write(state, at, fresh, logprobs);
    if (kind === 'refusal') this.writer.beside({ refusal: fresh });
    if (kind === 'input') this.writer.input(state.call ?? 0, fresh);
    if (kind === 'thought') this.writer.thought(fresh, before === '');
  }

  private write(state: SaidItem, at: number, text: string, logprobs: unknown): void {
    const given = asList(logprobs).map(withBytes);
    const start = this.writer.text(text, this.message !== state, given);
    this.message = state;
    if (!state.parts.has(at)) state.parts.set(at, { start, citations: 0 });
  }

  /** Citations of a part, from its first one; those that have been given out are left out. */
  private cite(state: SaidItem, at: number, annotations: readonly unknown[]): void {
    if (annotations.length === 0) return;
    const part = state.parts.get(at) ?? { start: this.writer.length, citations: 0 };
    state.parts.set(at, part);
    part.citations += annotations.length;
    const cited = asObjects(annotations).map(({ type, ...rest }) => ({ type, [asString(type)]: rest }));
    this.writer.beside(withMovedCitations({ annotations: cited }, part.start));
  }

  /** Begins a call, once it can be given out. */
  private opened(state: SaidItem): void {
    const { added } = state;
    const isWhole = isCall(added) && asString(added.name) !== '' && typeof added.call_id === 'string';
    if (isWhole && !isPack(added, this.asked)) this.begin(state, added);
  }

  private begin(state: SaidItem, item: JsonObject, input = ''): void {
    const { names } = this.asked;
    const name = names.long(asString(item.name));
    state.call = this.writer.call(names.long(callId(item)), callType(item), name, input);
  }

  /** Says what no event has said of an item. */
  private ended(state: SaidItem, item: JsonObject): void {
    state.done = item;
    if (item.type === 'message') this.endedMessage(state, item);
    if (item.type === 'reasoning') this.endedReasoning(state, item);
    if (isCall(item)) this.endedCall(state, item);
  }

  private endedMessage(state: SaidItem, item: JsonObject): void {
    for (const [at, { type, text, refusal, logprobs, annotations }] of partsOf(item).entries()) {
      const whole = { at, group: 'content_index', isDone: true };
      if (type === 'refusal') {
        this.say(state, { ...whole, kind: 'refusal', text: asString(refusal) });
        continue;
      }
      this.say(state, { ...whole, kind: 'content', text: asString(text), logprobs });
      const known = state.parts.get(at)?.citations ?? 0;
      this.cite(state, at, asList(annotations).slice(known));
    }
  }

  private endedReasoning(state: SaidItem, item: JsonObject): void {
    const parts = { summary_index: asObjects(item.summary), content_index: partsOf(item) };
    for (const [group, texts] of Object.entries(parts))
      for (const [at, { text }] of texts.entries())
        this.say(state, { kind: 'thought', isDone: true, group, at, text: asString(text) });
    const { id, encrypted_content: data } = item;
    if (typeof data === 'string') this.writer.detail({ ...ENCRYPTED_DETAIL, id, data });
  }

  /** A call that the model could not finish is not given out. */
  private endedCall(state: SaidItem, item: JsonObject): void {
    const isUnfinished = item.status === 'incomplete' || item.status === 'in_progress';
    const isHalf = this.isCut && item.type === 'function_call' && parseObject(inputIn(item)) === undefined;
    if (state.call === undefined && (isUnfinished || isHalf)) return;
    const calls = unpacked(item, this.asked);
    const text = inputIn(item);
    if (calls.length > 1 || calls[0] !== item) for (const call of calls) this.ended(stateOf(call), call);
    else if (state.call === undefined) this.begin(state, item, text);
    else this.say(state, { kind: 'input', at: 0, group: '', text, isDone: true });
  }
}

function stateOf(added: JsonObject): SaidItem {
  return { added, done: undefined, said: new Map(), parts: new Map(), call: undefined };
}

/** What a whole text has after what is known of it. */
function restOf(whole: string, known: string): string {
  return whole.startsWith(known) ? whole.slice(known.length) : '';
}

/** A token's probability, with the member that chat requires. */
function withBytes(token: unknown): JsonObject {
  const { top_logprobs, ...fields } = asObject(token);
  const top = asObjects(top_logprobs).map((one) => ({ bytes: null, ...one }));
  return { bytes: null, ...fields, top_logprobs: top };
}
