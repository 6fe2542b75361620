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
import { inputText } from '../../call-input.ts';
import { withMovedCitations } from '../../chat/citations.ts';
import { indexOf, type KnownItem, type StreamEvent, StreamItems } from '../../responses/stream-items.ts';
import type { AnswerWriter, SaidCall } from '../answer-writer.ts';
import { type Asked, callIn, isPack, partsOf, unpacked } from './items.ts';
import { ENCRYPTED_DETAIL } from './messages.ts';

interface SaidItem extends KnownItem {
  /** By kind and index of a part, the text that has been given out. */
  readonly said: Map<string, string>;
  /** By index of a part, where its text begins in the whole content, and its citations so far. */
  readonly parts: Map<number, { readonly start: number; citations: number }>;
  /** The index of its call among the answer's calls; undefined until the call is given out. */
  call: number | undefined;
}

/** By the name of an event, what its text is, and the members with its index and the whole text. */
const TEXTS = {
  output_text: ['content', 'content_index', 'text'],
  refusal: ['refusal', 'content_index', 'refusal'],
  function_call_arguments: ['input', '', 'arguments'],
  custom_tool_call_input: ['input', '', 'input'],
  reasoning_summary_text: ['thought', 'summary_index', 'text'],
  reasoning_text: ['thought', 'content_index', 'text'],
  reasoning: ['thought', 'content_index', 'text'],
} as const;
type Text = (typeof TEXTS)[keyof typeof TEXTS];
const BY_NAME: ReadonlyMap<string, Text> = new Map(Object.entries(TEXTS));

const OF_TEXT = /^response\.(\w+)\.(delta|done)$/;

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
    const text = BY_NAME.get(name);
    const { item } = fields;
    if (text) this.takeText(event, text, phase === 'done');
    else if (type === 'response.output_text.annotation.added') {
      const state = this.items.find(event, {});
      if (state) this.cite(state, asNumber(fields.content_index), [fields.annotation]);
    } else if (!isObject(item)) return;
    else if (type === 'response.output_item.added') this.takeItem(event, item, false);
    else if (type === 'response.output_item.done') this.takeItem(event, item, true);
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
    const state = { added, done: undefined, said: new Map(), parts: new Map(), call: undefined };
    this.items.add(state, index);
    return state;
  }

  /** Takes an item that begins or ends. One that does for the second time says nothing. */
  private takeItem(event: StreamEvent, item: JsonObject, ends: boolean): void {
    const known = this.items.find(event, item);
    const before = ends ? known?.done : known?.added;
    if (item.id !== undefined && before?.id === item.id && before?.type === item.type) return;
    const isOpen = ends && known && !known.done && known.added.type === item.type;
    const state = isOpen ? known : this.add(item, indexOf(event));
    if (ends) this.ended(state, item);
    else this.opened(state);
  }

  private takeText(event: StreamEvent, text: Text, isWhole: boolean): void {
    const { fields } = event;
    // Upstreams that announce no message are known to stream its text.
    const isWord = text[0] === 'content' || text[0] === 'refusal';
    const found = this.items.find(event, {});
    const state = found ?? (isWord ? this.add({ type: 'message' }, indexOf(event)) : undefined);
    if (state) this.say(state, text, asNumber(fields[text[1]]), fields, isWhole);
  }

  /**
   * Says what is new of a text. A summary and the reasoning itself count their parts alike.
   *
   * @param said an event, or the part or item that has the whole text under the same name
   */
  private say(
    state: SaidItem,
    [kind, index, whole]: Text,
    at: number,
    said: JsonObject,
    isWhole = true,
  ): void {
    if (kind === 'input' && state.call === undefined) return;
    const key = `${kind}:${index}:${at}`;
    const before = state.said.get(key) ?? '';
    const text = inputText(said[isWhole ? whole : 'delta']);
    const fresh = !isWhole ? text : text.startsWith(before) ? text.slice(before.length) : '';
    if (fresh === '') return;
    state.said.set(key, before + fresh);
    if (kind === 'content') this.write(state, at, fresh, said.logprobs);
    if (kind === 'refusal') this.writer.say({ refusal: fresh });
    if (kind === 'input') this.writer.input(state.call ?? 0, fresh);
    if (kind === 'thought') this.writer.thought(fresh, before === '');
  }

  private write(state: SaidItem, at: number, text: string, logprobs: unknown): void {
    const start = this.writer.text(text, this.message !== state, asList(logprobs).map(withBytes));
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
    this.writer.say(withMovedCitations({ annotations: cited }, part.start));
  }

  /** Begins a call, once it can be given out. */
  private opened(state: SaidItem): void {
    const { added } = state;
    const call = typeof added.call_id === 'string' && !isPack(added, this.asked) ? callIn(added) : undefined;
    if (call && call.name !== '') state.call = this.begin({ ...call, input: '' });
  }

  private begin(call: SaidCall): number {
    const { names } = this.asked;
    return this.writer.call({ ...call, id: names.long(asString(call.id)), name: names.long(call.name) });
  }

  /** Says what no event has said of an item. */
  private ended(state: SaidItem, item: JsonObject): void {
    state.done = item;
    if (item.type === 'message') this.endedMessage(state, item);
    if (item.type === 'reasoning') this.endedReasoning(state, item);
    const call = callIn(item);
    if (call) this.endedCall(state, item, call);
  }

  private endedMessage(state: SaidItem, item: JsonObject): void {
    for (const [at, part] of partsOf(item).entries()) {
      this.say(state, part.type === 'refusal' ? TEXTS.refusal : TEXTS.output_text, at, part);
      this.cite(state, at, asList(part.annotations).slice(state.parts.get(at)?.citations ?? 0));
    }
  }

  private endedReasoning(state: SaidItem, item: JsonObject): void {
    for (const [at, part] of asObjects(item.summary).entries())
      this.say(state, TEXTS.reasoning_summary_text, at, part);
    for (const [at, part] of partsOf(item).entries()) this.say(state, TEXTS.reasoning_text, at, part);
    const { id, encrypted_content: data } = item;
    if (typeof data === 'string') this.writer.detail({ ...ENCRYPTED_DETAIL, id, data });
  }

  /** A call that the model could not finish is not given out. */
  private endedCall(state: SaidItem, item: JsonObject, { type, input }: SaidCall): void {
    const text = type === 'custom' ? TEXTS.custom_tool_call_input : TEXTS.function_call_arguments;
    const isUnfinished = item.status === 'incomplete' || item.status === 'in_progress';
    const isHalf = this.isCut && type === 'function' && parseObject(input) === undefined;
    if (state.call !== undefined) this.say(state, text, 0, item);
    else if (!isUnfinished && !isHalf)
      for (const one of unpacked(item, this.asked)) {
        const call = callIn(one);
        const index = call && this.begin(call);
        if (one === item) state.call = index;
      }
  }
}

/** A token's probability, with the member that chat requires. */
function withBytes(token: unknown): JsonObject {
  const { top_logprobs, ...fields } = asObject(token);
  const top = asObjects(top_logprobs).map((one) => ({ bytes: null, ...one }));
  return { bytes: null, ...fields, top_logprobs: top };
}
