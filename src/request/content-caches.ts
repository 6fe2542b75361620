/**
 * What an isolate has computed from the contents of one tenant. A request without a tenant has its
 * own memory, which ends with it.
 *
 * The number of literals kept per text and per array is bounded: a body of 16 MiB holds millions,
 * and is planned within a heap of 100 MB. A body may have 300,000 values (`protocol/body.ts`),
 * parts are decoded one by one, and a request keeps 4 million characters of contents decoded
 * (`protocol/kept-contents.ts`). The tokenizer keeps nothing of a text.
 */
import type { Cache } from '../lib/lru.ts';
import type { TokenMeasure } from '../memory/models/facts.ts';
import { createTokenCounter, loadTokenize } from '../memory/tokens/tokens.ts';
import type { TenantArrays } from '../protocol/known-arrays.ts';
import { type Isolate, isolateMemory } from './beliefs.ts';

export class ContentCaches {
  private readonly memory: Isolate;
  private readonly tenant: string;

  constructor(memory: Isolate, tenant: string) {
    this.memory = memory;
    this.tenant = tenant;
  }

  /** The caches of a request without a tenant. */
  static ofRequest(): ContentCaches {
    return new ContentCaches(isolateMemory(), '');
  }

  /**
   * A token counter and its caches. One per measure, since counts differ. Its tables are loaded on
   * first use.
   */
  async counting(measure: TokenMeasure) {
    const { memory } = this;
    const part = `${this.tenant}:${measure}`;
    const counts = { messages: memory.of('messageCounts').of(part), texts: memory.of('textCounts').of(part) };
    return {
      counter: createTokenCounter(await loadTokenize(measure), counts),
      facts: memory.of('facts').of(part),
      previews: memory.of('previews').of(part),
    };
  }

  get digests(): Cache<string> {
    return this.memory.of('digests').of(this.tenant);
  }

  get arrays(): TenantArrays {
    return this.memory.of('arrays').of(this.tenant);
  }
}
