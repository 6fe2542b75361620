/** The hashes of a message in the caller's bytes, each computed once (see `Message`). */
import { hash } from 'node:crypto';
import type { Content, MessageFacts } from '../memory/conversation/message.ts';
import { bareJson } from './json/bare.ts';
import { MARKS } from './said.ts';

export abstract class NamedMessage<Facts extends MessageFacts = MessageFacts> {
  /** See `Message`. */
  readonly facts: Facts;

  constructor(facts: Facts) {
    this.facts = facts;
  }

  /** See `WireMessage`. */
  abstract get json(): Uint8Array;

  /** See `Message`. */
  abstract content(): Content;

  /** Whether it is a model's message without calls, whose text alone identifies it. */
  protected abstract get isAnswer(): boolean;

  /** See `Message`. */
  protected abstract readFlatTokens(): number;

  get flatTokens(): number {
    this.facts.flatTokens ??= this.readFlatTokens();
    return this.facts.flatTokens;
  }

  get digest(): string {
    this.facts.digest ??= hash('sha256', this.json, 'base64url');
    return this.facts.digest;
  }

  get identity(): string {
    this.facts.identity ??= this.readIdentity();
    return this.facts.identity;
  }

  private readIdentity(): string {
    const text = this.isAnswer ? this.answerText() : '';
    if (text !== '') return answerIdentity(text);
    return hash('sha256', this.said(), 'base64url');
  }

  /** The text of an answer; empty if that does not identify it. */
  protected answerText(): string {
    const { text, type } = this.content();
    return type === 'application/json' ? '' : text;
  }

  /** What the message says, however it is written (`said.ts`). */
  protected said(): string | Uint8Array {
    return bareJson(this.json, MARKS);
  }
}

/** The identity of an assistant message with this text and without calls. */
export function answerIdentity(text: string): string {
  return hash('sha256', `assistant\n${text}`, 'base64url');
}
