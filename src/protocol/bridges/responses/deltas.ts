/**
 * The events of a response as deltas of a chat message. A whole item says what no event before it
 * has said, so an answer without a stream is made of its items alone, in the same way.
 */
import { asObject, asString, type JsonObject, parseObject } from '../../../lib/json.ts';
import { withMovedCitations } from '../../chat/citations.ts';
import { indexOf, type KnownItem, type StreamEvent, StreamItems } from '../../responses/stream-items.ts';
import { type Asked, callOf, inputOfCall, isCall, isPack, partsOf, unpacked } from './items.ts';
import { ENCRYPTED_DETAIL } from './messages.ts';

/** A delta, and what its choice has beside it. */
export interface Piece {
  readonly delta: JsonObject;
  readonly beside?: JsonObject;
}

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
};

const OF_TEXT = /^response\.(\w+)\.(delta|done)$/;
const PARAGRAPH = '\n\n';

/** Makes deltas of one answer. */
export class AnswerDeltas {
  private readonly asked: Asked;
  private readonly items = new StreamItems<SaidItem>();
  /** How many calls have been given out. */
  calls = 0;
  /** Characters of the content that have been given out. */
  private length = 0;
  /** The last message with text. */
  private message: SaidItem | undefined;
  private hasThought = false;
  private isCut = false;
  /** How many encrypted pieces of reasoning have been given out. */
  private details = 0;

  constructor(asked: Asked) {
    this.asked = asked;
  }

  /** Takes an event of the stream. One of an unknown type says nothing. */
  take(event: StreamEvent): Piece[] {
    const { type, fields } = event;
    const [, name = '', phase] = OF_TEXT.exec(type) ?? [];
    const text = TEXTS[name];
    if (text) return this.takeText(event, text, phase === 'done');
    const item = asObject(fields.item);
    switch (type) {
      case 'response.output_item.added':
        return this.isKnown(event, item) ? [] : this.opened(this.add(item, indexOf(event)));
      case 'response.output_item.done':
        return this.takeItem(event, item);
      case 'response.output_text.annotation.added': {
        const state = this.items.find(event, {});
        const at = numberIn(fields, 'content_index');
        return state ? this.cite(state, at, [fields.annotation]) : [];
      }
      default:
        return [];
    }
  }

  /**
   * Takes the items of the whole answer: those that no event has ended say what is left.
   *
   * @param isCut whether the answer is cut short: then a call without whole arguments is none
   */
  takeOutput(output: readonly JsonObject[], isCut: boolean): Piece[] {
    this.isCut = isCut;
    const { states } = this.items;
    if (states.length >= output.length && states.every(({ done }) => done)) return [];
    const isStreamed = states.length > 0;
    return output.flatMap((item, index) => {
      const known = isStreamed ? this.items.findInOutput(index, item) : undefined;
      return known?.done ? [] : this.ended(known ?? this.add(item, undefined), item);
    });
  }

  /** The items that have ended. */
  get output(): JsonObject[] {
    return this.items.ended;
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
  private takeItem(event: StreamEvent, item: JsonObject): Piece[] {
    const known = this.items.find(event, item);
    if (known?.done && item.id !== undefined && known.done.id === item.id) return [];
    const isOpen = known && !known.done && known.added.type === item.type;
    return this.ended(isOpen ? known : this.add(item, indexOf(event)), item);
  }

  private takeText(
    event: StreamEvent,
    [kind, index, whole]: (typeof TEXTS)[string],
    isDone: boolean,
  ): Piece[] {
    const { fields } = event;
    // Upstreams that announce no message are known to stream its text.
    const isWord = kind === 'content' || kind === 'refusal';
    const found = this.items.find(event, {});
    const state = found ?? (isWord ? this.add({ type: 'message' }, indexOf(event)) : undefined);
    if (!state) return [];
    const text = asString(isDone ? fields[whole] : fields.delta);
    return this.say(state, {
      kind,
      at: numberIn(fields, index),
      group: index,
      text,
      isDone,
      logprobs: fields.logprobs,
    });
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
  ): Piece[] {
    const { kind, at, group, text, isDone, logprobs } = said;
    if (kind === 'input' && state.call === undefined) return [];
    if (kind === 'thought' && !this.asked.showsReasoning) return [];
    const key = `${kind}:${group}:${at}`;
    const before = state.said.get(key) ?? '';
    const fresh = isDone ? restOf(text, before) : text;
    if (fresh === '') return [];
    state.said.set(key, before + fresh);
    if (kind === 'content') return [this.write(state, at, fresh, logprobs)];
    if (kind === 'refusal') return [{ delta: { refusal: fresh } }];
    if (kind === 'input') return [this.callPiece(state, inputOfCall(state.added, fresh))];
    return [this.think(fresh, before === '')];
  }

  /** Texts of several messages are paragraphs of one content. */
  private write(state: SaidItem, at: number, text: string, logprobs: unknown): Piece {
    const isNext = this.message !== undefined && this.message !== state;
    const content = isNext ? PARAGRAPH + text : text;
    this.message = state;
    if (!state.parts.has(at))
      state.parts.set(at, { start: this.length + content.length - text.length, citations: 0 });
    this.length += content.length;
    const given = Array.isArray(logprobs) ? logprobs.map(withBytes) : [];
    if (given.length === 0) return { delta: { content } };
    return { delta: { content }, beside: { logprobs: { content: given, refusal: null } } };
  }

  /** @param isNew whether a part of a summary or of the reasoning begins */
  private think(text: string, isNew: boolean): Piece {
    const isNext = isNew && this.hasThought;
    this.hasThought = true;
    return { delta: { reasoning_content: isNext ? PARAGRAPH + text : text } };
  }

  /** Citations of a part, from its first one; those that have been given out are left out. */
  private cite(state: SaidItem, at: number, annotations: readonly unknown[]): Piece[] {
    if (annotations.length === 0) return [];
    const part = state.parts.get(at) ?? { start: this.length, citations: 0 };
    state.parts.set(at, part);
    part.citations += annotations.length;
    const cited = annotations.map(asObject).map(({ type, ...rest }) => ({ type, [asString(type)]: rest }));
    return [{ delta: withMovedCitations({ annotations: cited }, part.start) }];
  }

  /** The beginning of a call, once it can be given out. */
  private opened(state: SaidItem): Piece[] {
    const { added } = state;
    const isWhole = isCall(added) && asString(added.name) !== '' && typeof added.call_id === 'string';
    return isWhole && !isPack(added, this.asked) ? this.begin(state, added) : [];
  }

  private begin(state: SaidItem, item: JsonObject, input = ''): Piece[] {
    state.call = this.calls++;
    return [this.callPiece(state, callOf(item, input, this.asked))];
  }

  private callPiece({ call }: SaidItem, fields: JsonObject): Piece {
    return { delta: { tool_calls: [{ index: call, ...fields }] } };
  }

  /** What no event has said of an item. */
  private ended(state: SaidItem, item: JsonObject): Piece[] {
    state.done = item;
    if (item.type === 'message') return this.endedMessage(state, item);
    if (item.type === 'reasoning') return this.endedReasoning(state, item);
    return isCall(item) ? this.endedCall(state, item) : [];
  }

  private endedMessage(state: SaidItem, item: JsonObject): Piece[] {
    return partsOf(item).flatMap(({ type, text, refusal, logprobs, annotations }, at) => {
      const whole = { at, group: 'content_index', isDone: true };
      if (type === 'refusal') return this.say(state, { ...whole, kind: 'refusal', text: asString(refusal) });
      const said = this.say(state, { ...whole, kind: 'content', text: asString(text), logprobs });
      const known = state.parts.get(at)?.citations ?? 0;
      return [...said, ...this.cite(state, at, Array.isArray(annotations) ? annotations.slice(known) : [])];
    });
  }

  private endedReasoning(state: SaidItem, item: JsonObject): Piece[] {
    const whole = { kind: 'thought', isDone: true } as const;
    const summary = Array.isArray(item.summary) ? item.summary.map(asObject) : [];
    const texts = [
      ...summary.map(({ text }, at) => ({ group: 'summary_index', at, text: asString(text) })),
      ...partsOf(item).map(({ text }, at) => ({ group: 'content_index', at, text: asString(text) })),
    ];
    const said = texts.flatMap((text) => this.say(state, { ...whole, ...text }));
    const { id, encrypted_content: data } = item;
    if (!this.asked.showsReasoning || typeof data !== 'string') return said;
    const detail = { ...ENCRYPTED_DETAIL, id, data, index: this.details++ };
    return [...said, { delta: { reasoning_details: [detail] } }];
  }

  /** A call that the model could not finish is not given out. */
  private endedCall(state: SaidItem, item: JsonObject): Piece[] {
    const isUnfinished = item.status === 'incomplete' || item.status === 'in_progress';
    const isHalf =
      this.isCut && item.type === 'function_call' && parseObject(asString(item.arguments)) === undefined;
    if (state.call === undefined && (isUnfinished || isHalf)) return [];
    const calls = unpacked(item, this.asked);
    if (calls.length > 1 || calls[0] !== item)
      return calls.flatMap((call) => this.ended(stateOf(call), call));
    const text = asString(item.type === 'custom_tool_call' ? item.input : item.arguments);
    if (state.call === undefined) return this.begin(state, item, text);
    return this.say(state, { kind: 'input', at: 0, group: '', text, isDone: true });
  }
}

function stateOf(added: JsonObject): SaidItem {
  return { added, done: undefined, said: new Map(), parts: new Map(), call: undefined };
}

/** What a whole text has after what is known of it. */
function restOf(whole: string, known: string): string {
  return whole.startsWith(known) ? whole.slice(known.length) : '';
}

function numberIn(fields: JsonObject, key: string): number {
  const value = fields[key];
  return typeof value === 'number' ? value : 0;
}

/** A token's probability, with the member that chat requires. */
function withBytes(token: unknown): JsonObject {
  const { top_logprobs, ...fields } = asObject(token);
  const top = Array.isArray(top_logprobs)
    ? top_logprobs.map((one) => ({ bytes: null, ...asObject(one) }))
    : [];
  return { bytes: null, ...fields, top_logprobs: top };
}
