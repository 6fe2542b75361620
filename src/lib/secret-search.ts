/**
 * Finds a secret anywhere in texts. The time does not reveal how much of it a text holds, as the
 * time of `includes` might.
 */
import { timingSafeEqual } from 'node:crypto';

export class SecretSearch {
  private readonly secret: string;
  private readonly bytes: Buffer;
  /** Chosen at random, so that nobody can make texts with the hash of a secret. */
  private readonly base = (crypto.getRandomValues(new Int32Array(1))[0] ?? 0) | 1;
  private readonly hash: number;
  /** The weight of the first character of as many as the secret has. */
  private readonly weight: number;

  constructor(secret: string) {
    this.secret = secret;
    this.bytes = Buffer.from(secret);
    let hash = 0;
    let weight = 1;
    for (let at = 0; at < secret.length; at++) {
      hash = (Math.imul(hash, this.base) + secret.charCodeAt(at)) | 0;
      if (at > 0) weight = Math.imul(weight, this.base);
    }
    this.hash = hash;
    this.weight = weight;
  }

  /** One comparison of hashes for each place in the text (Karp and Rabin). */
  isIn(text: string): boolean {
    const { length } = this.secret;
    let hash = 0;
    for (let end = 0; end < text.length; end++) {
      if (end >= length) hash = (hash - Math.imul(text.charCodeAt(end - length), this.weight)) | 0;
      hash = (Math.imul(hash, this.base) + text.charCodeAt(end)) | 0;
      if (hash === this.hash && end + 1 >= length && this.is(text.slice(end + 1 - length, end + 1)))
        return true;
    }
    return false;
  }

  private is(text: string): boolean {
    const bytes = Buffer.from(text);
    return bytes.length === this.bytes.length && timingSafeEqual(bytes, this.bytes);
  }
}
