/** The hashes of a message in the caller's bytes, each computed once (see `Message`). */
import { createHash } from 'node:crypto';
import type { Content } from '../memory/conversation/message.ts';
import { withoutWhiteSpace } from './json/white-space.ts';

export abstract class NamedMessage {
  private knownDigest: string | undefined;
  private knownIdentity: string | undefined;

  /** See `WireMessage`. */
  abstract get json(): Uint8Array;

  /** See `Message`. */
  abstract content(): Content;

  /** Whether it is a model's message without calls, whose text alone identifies it. */
  protected abstract get isAnswer(): boolean;

  get digest(): string {
    this.knownDigest ??= createHash('sha256').update(this.json).digest('base64url');
    return this.knownDigest;
  }

  get identity(): string {
    this.knownIdentity ??= this.readIdentity();
    return this.knownIdentity;
  }

  private readIdentity(): string {
    if (this.isAnswer) {
      const { text, type } = this.content();
      if (text !== '' && type !== 'application/json') return answerIdentity(text);
    }
    return createHash('sha256').update(withoutWhiteSpace(this.json)).digest('base64url');
  }
}

/** The identity of an assistant message with this text and without calls. */
export function answerIdentity(text: string): string {
  return createHash('sha256').update(`assistant\n${text}`).digest('base64url');
}
