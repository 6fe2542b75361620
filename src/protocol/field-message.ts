/** Messages with a field of their own, beside the array or in its place. No view edits them. */
import type { Content, Role } from '../memory/conversation/message.ts';
import type { JsonSpan } from './json/outline.ts';
import { NamedMessage } from './message-names.ts';
import type { WireMessage } from './model-request.ts';

export abstract class FieldMessage extends NamedMessage implements WireMessage {
  abstract readonly role: Role;
  abstract readonly wireRole: string;
  abstract readonly flatTokens: number;
  readonly calls = [];
  readonly answers = undefined;
  protected readonly isAnswer = false;
  protected readonly span: JsonSpan;

  /** @param span of its value */
  constructor(span: JsonSpan) {
    super({});
    this.span = span;
  }

  abstract override content(): Content;
  abstract opening(): string;

  get bytes(): number {
    return this.span.end - this.span.start;
  }

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
