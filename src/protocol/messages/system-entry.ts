/** Entries of `system` as messages. */
import { asObject } from '../../lib/json.ts';
import type { Content } from '../../memory/conversation/message.ts';
import { FieldMessage } from '../field-message.ts';
import type { JsonSpan } from '../json/outline.ts';
import { textOf } from '../json/spans.ts';
import { contentOfList, plain } from '../parts.ts';
import { PARTS, withoutMarks } from './block.ts';

/**
 * What Claude Code says of itself in the first entry of `system`. The API leaves it out of what the
 * model reads, and it differs from request to request.
 */
const ATTRIBUTION = 'x-anthropic-billing-header:';

/** `system` as a string, or one of its entries. */
export class SystemEntry extends FieldMessage {
  readonly role = 'preamble';
  readonly wireRole = 'system';
  /** Its JSON; that of an attribution says nothing. */
  readonly text: string;
  private readonly entry: unknown;

  constructor(body: Uint8Array, span: JsonSpan) {
    super(span);
    const text = textOf(body, span);
    this.text = text.includes(ATTRIBUTION) && isAttribution(JSON.parse(text)) ? '""' : text;
    this.entry = JSON.parse(this.text);
  }

  /** The equivalent message. */
  get json(): Uint8Array {
    const content = typeof this.entry === 'string' ? this.text : `[${this.text}]`;
    return new TextEncoder().encode(`{"role":"system","content":${content}}`);
  }

  get flatTokens(): number {
    return this.content().weight.flat;
  }

  content(): Content {
    const { entry } = this;
    if (typeof entry === 'string') return plain(entry);
    return contentOfList([{ value: entry }], () => `[${this.text}]`, PARTS);
  }

  opening(): string {
    return typeof this.entry === 'string' ? this.entry : (PARTS.textOf(this.entry) ?? '');
  }

  protected override said(): string {
    return JSON.stringify(withoutMarks(this.entry));
  }
}

function isAttribution(entry: unknown): boolean {
  const { text } = asObject(entry);
  return typeof text === 'string' && text.startsWith(ATTRIBUTION);
}
