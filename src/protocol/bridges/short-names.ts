/**
 * Names of tools and ids of calls that the other API does not take. A cut one could meet another
 * one, so a hash replaces the whole.
 */

/** In characters: of `call_id` and of a tool's name at OpenAI. */
const LONGEST = 64;

/** Maps names in a request to those that the other API takes, and these in its answer back. */
export class ShortNames {
  private readonly sha256: (text: string) => string;
  private readonly fits: (name: string) => boolean;
  private readonly byShort = new Map<string, string>();

  /**
   * @param sha256 in hexadecimal
   * @param fits whether the other API takes a name
   */
  constructor(sha256: (text: string) => string, fits = (name: string) => name.length <= LONGEST) {
    this.sha256 = sha256;
    this.fits = fits;
  }

  /** A name as the upstream reads it. Equal names get equal ones in all requests. */
  short(name: unknown, prefix: 'call_' | 'tool_'): unknown {
    if (typeof name !== 'string' || this.fits(name)) return name;
    const short = this.hashed(name, prefix);
    this.byShort.set(short, name);
    return short;
  }

  /** A name in the answer as the caller knows it. */
  long(name: string): string {
    return this.byShort.get(name) ?? name;
  }

  /** A name that is made of a text. */
  hashed(text: string, prefix: string): string {
    return prefix + Buffer.from(this.sha256(text), 'hex').toString('base64url');
  }
}
