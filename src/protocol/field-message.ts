/** Messages with a field of their own, beside the array or in its place. No view edits them. */
import type { Content, MessageFacts, Role } from '../memory/conversation/message.ts';
import type { Span } from './json/outline.ts';
import { jsonOf, textOf } from './json/spans.ts';
import { NamedMessage } from './message-names.ts';
import type { WireMessage } from './model-request.ts';

export interface FieldValue {
  readonly span: Span;
  /** Its JSON, as far as it says anything. */
  readonly value: Uint8Array;
}

export function fieldValue(body: Uint8Array, span: Span): FieldValue {
  return { span, value: body.subarray(span.start, span.end) };
}

export abstract class FieldMessage extends NamedMessage implements WireMessage {
  abstract readonly role: Role;
  abstract readonly wireRole: string;
  readonly parts = 1;
  readonly calls = [];
  readonly answers = undefined;
  protected readonly isAnswer = false;
  /** See `ReadArray.before`. */
  readonly value: Uint8Array;
  readonly bytes: number;

  /** @param facts of one with the same value and the same messages before it */
  constructor({ span: { start, end }, value }: FieldValue, facts: MessageFacts = {}) {
    super(facts);
    this.value = value;
    this.bytes = end - start;
  }

  /** The value's JSON. */
  get text(): string {
    return textOf(this.value, this.whole);
  }

  /** The value. Decoded on each call, since a known message is not. */
  protected read(): unknown {
    return jsonOf(this.value, this.whole);
  }

  private get whole(): Span {
    return { start: 0, end: this.value.length };
  }

  abstract override content(): Content;
  abstract opening(): string;

  media(): [] {
    return [];
  }

  bearsMark(): boolean {
    return false;
  }

  otherTexts(): [] {
    return [];
  }

  reasoning(): undefined {
    return undefined;
  }

  thinking(): undefined {
    return undefined;
  }
}
