/**
 * Names of tools and ids of calls that are longer than the other API allows. A cut one could meet
 * another one, so a hash replaces the whole.
 */

/** In characters: of `call_id` and of a tool's name at OpenAI. */
const LONGEST = 64;

/** Maps long names in a request to short ones, and short ones in its answer back. */
export class ShortNames {
  private readonly sha256: (text: string) => string;
  private readonly fits: (name: string) => boolean;
  /** By prefix and name. */
  private readonly byLong = new Map<string, string>();
  private readonly byShort = new Map<string, string>();

  /**
   * @param sha256 in hexadecimal
   * @param fits whether the other API takes a name
   */
  constructor(sha256: (text: string) => string, fits = (name: string) => name.length <= LONGEST) {
    this.sha256 = sha256;
    this.fits = fits;
  }

  /**
   * A name as the upstream reads it. Equal names get equal ones in all requests.
   *
   * @param prefix of a short name
   */
  short(name: string, prefix: 'call_' | 'tool_'): string {
    if (this.fits(name)) return name;
    const key = prefix + name;
    const known = this.byLong.get(key);
    if (known !== undefined) return known;
    const short = this.hashed(name, prefix);
    this.byLong.set(key, short);
    this.byShort.set(short, name);
    return short;
  }

  /** A name that was used before, as another one. @param count how often it was */
  again(name: string, prefix: 'call_', count: number): string {
    return this.hashed(`${name} ${count}`, prefix);
  }

  /** A name in the answer as the caller knows it. */
  long(name: string): string {
    return this.byShort.get(name) ?? name;
  }

  private hashed(text: string, prefix: string): string {
    return prefix + Buffer.from(this.sha256(text), 'hex').toString('base64url');
  }
}
