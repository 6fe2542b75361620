/**
 * Finds a secret anywhere in texts. The time does not reveal how much of it a text holds, as the
 * time of `includes` might.
 */
import { timingSafeEqual } from 'node:crypto';

/** One comparison of hashes for each place in a text (Karp and Rabin). */
export function secretSearch(secret: string): (text: string) => boolean {
  const { length } = secret;
  const wanted = Buffer.from(secret);
  // Chosen at random, so that nobody can make texts with the hash of a secret.
  const base = (crypto.getRandomValues(new Int32Array(1))[0] ?? 0) | 1;
  let hashed = 0;
  /** Of the first character of as many as the secret has. */
  let weight = 1;
  for (let at = 0; at < length; at++) {
    hashed = (Math.imul(hashed, base) + secret.charCodeAt(at)) | 0;
    if (at > 0) weight = Math.imul(weight, base);
  }
  const isSecret = (text: string): boolean => {
    const bytes = Buffer.from(text);
    return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
  };
  return (text) => {
    let hash = 0;
    for (let end = 0; end < text.length; end++) {
      if (end >= length) hash = (hash - Math.imul(text.charCodeAt(end - length), weight)) | 0;
      hash = (Math.imul(hash, base) + text.charCodeAt(end)) | 0;
      if (hash === hashed && end + 1 >= length && isSecret(text.slice(end + 1 - length, end + 1)))
        return true;
    }
    return false;
  };
}
