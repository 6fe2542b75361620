/** Entries of `system` as messages. */
import { bufferOf } from '../../lib/bytes.ts';
import { asObject } from '../../lib/json.ts';
import type { Content } from '../../memory/conversation/message.ts';
import { FieldMessage, type FieldValue, fieldValue } from '../field-message.ts';
import type { Span } from '../json/outline.ts';
import { QUOTE } from '../json/scanner.ts';
import { jsonOf } from '../json/spans.ts';
import { contentOfList, plain } from '../parts.ts';
import { PARTS, withoutMarks } from './block.ts';

/**
 * What Claude Code says of itself in the first entry of `system`. The API leaves it out of what the
 * model reads, and it differs from request to request.
 */
const ATTRIBUTION = 'x-anthropic-billing-header:';

const encoder = new TextEncoder();

const NOTHING = encoder.encode('""');

/** The JSON of an entry as far as the model reads it: an attribution says nothing. */
export function saidValue(body: Uint8Array, span: Span): FieldValue {
  const whole = fieldValue(body, span);
  const isSilent = bufferOf(whole.value).includes(ATTRIBUTION) && isAttribution(jsonOf(body, span));
  return isSilent ? { span, value: NOTHING } : whole;
}

/** `system` as a string, or one of its entries. Decoded on demand: a known entry is not. */
export class SystemEntry extends FieldMessage {
  readonly role = 'preamble';
  readonly wireRole = 'system';

  /** The equivalent message. */
  get json(): Uint8Array {
    const { text } = this;
    const content = this.value[0] === QUOTE ? text : `[${text}]`;
    return encoder.encode(`{"role":"system","content":${content}}`);
  }

  protected readFlatTokens(): number {
    return this.content().weight.flat;
  }

  content(): Content {
    const entry = this.read();
    if (typeof entry === 'string') return plain(entry);
    return contentOfList([{ value: entry }], () => `[${this.text}]`, PARTS);
  }

  opening(): string {
    const entry = this.read();
    return typeof entry === 'string' ? entry : (PARTS.textOf(entry) ?? '');
  }

  protected override said(): string {
    return JSON.stringify(withoutMarks(this.read()));
  }
}

function isAttribution(entry: unknown): boolean {
  const { text } = asObject(entry);
  return typeof text === 'string' && text.startsWith(ATTRIBUTION);
}
