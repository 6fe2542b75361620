/**
 * Caches of what an isolate has computed from contents: counts, facts, previews, digests. Each
 * tenant has its own, under common bounds, so that response times reveal nothing about another
 * tenant's contents.
 *
 * A request without a tenant has its own caches, which end with it. No cache keeps a part of a
 * longer text, since V8 would keep the whole text alive: keys and labels are copied. The tokenizer
 * keeps nothing of a text.
 *
 * The number of literals kept per text and per array is bounded: a body of 16 MiB holds millions,
 * and is planned within a heap of 100 MB. A body may have 300 000 values (`protocol/body.ts`),
 * parts are decoded one by one, and a request keeps 4 million characters of contents decoded
 * (`protocol/kept-contents.ts`).
 */
import { textBytes } from '../lib/copy.ts';
import { type Bound, type Cache, TenantLru } from '../lib/lru.ts';
import { CONTENT_FACTS, type ContentFacts } from '../memory/edits/compact.ts';
import { PREVIEWS, type WrittenPreviews } from '../memory/edits/preview.ts';
import type { TokenMeasure } from '../memory/models/facts.ts';
import type { PlacedInstructions } from '../memory/money/uncached-instructions.ts';
import {
  createTokenCounter,
  loadTokenize,
  MESSAGE_COUNTS,
  TEXT_COUNTS,
  type TokenCounter,
} from '../memory/tokens/tokens.ts';
import { KnownArrays, type TenantArrays } from '../protocol/known-arrays.ts';

/** A token counter and its caches. One per measure, since counts differ. */
interface Counting {
  readonly counter: TokenCounter;
  readonly facts: ContentFacts;
  readonly previews: WrittenPreviews;
}

/** The caches of one tenant, or of one request. */
export interface ContentCaches {
  /** The counter of a measure. Its tables are loaded on first use. */
  counting(measure: TokenMeasure): Promise<Counting>;
  /** Extractive digests. Making one takes reading everything it covers. */
  readonly digests: Cache<string>;
  readonly arrays: TenantArrays;
  /** @param name see `conversationName` */
  conversation(name: string): ConversationCaches;
}

/** The caches of one conversation. */
export interface ConversationCaches {
  /** See `SummaryPorts`. */
  readonly prepared: Cache<number>;
  /** How many messages its newest request had, under an empty key. */
  readonly sent: Cache<number>;
  /**
   * The keys of the newest answers up to which views lacked kept rounds that are there, under an
   * empty key. One of each array: forks and sub-agents have their own.
   */
  readonly lacksRounds: Cache<ReadonlySet<string>>;
  /**
   * Whether its client sends other answers back than it got, as far as their keys tell, under an
   * empty key.
   */
  readonly rewritesAnswers: Cache<true>;
  /**
   * Arrays, by their prefix hash, whose reported view has placeholders that the upstream has
   * refused in a later round.
   */
  readonly toldEdited: Cache<true>;
  /**
   * The hashes of its arrays at which the model could not fetch, under an empty key (see
   * `closed-requests.ts` in `src/view/`).
   */
  readonly closed: Cache<ReadonlySet<string>>;
  /** Where its newest instructions stood, and what is cached of them, under an empty key. */
  readonly instructions: Cache<PlacedInstructions>;
  /** The names of the items that its views have left out or replaced, under an empty key. */
  readonly items: Cache<ReadonlySet<string>>;
}

/** A digest has a few thousand tokens. */
const DIGESTS: Bound<string> = { bytes: 2 * 1024 * 1024, sizeOf: textBytes };
/** About 2 000 entries. */
const PREPARED: Bound<number> = { bytes: 1024 * 1024 };

/** About 2 500 conversations. */
const SENT: Bound<number> = { bytes: 1024 * 1024 };

/** About 5 000 keys. */
const LACKING: Bound<ReadonlySet<string>> = { bytes: 1024 * 1024, sizeOf: ({ size }) => 100 * size };

/** About 2 500 conversations. */
const REWRITING: Bound<true> = { bytes: 1024 * 1024 };

/** About 2 500 arrays. */
const TOLD_EDITED: Bound<true> = { bytes: 1024 * 1024 };

/** About 10 000 hashes. */
const CLOSED: Bound<ReadonlySet<string>> = { bytes: 1024 * 1024, sizeOf: ({ size }) => 100 * size };

/** About 1 500 conversations. */
const PLACED: Bound<PlacedInstructions> = {
  bytes: 1024 * 1024,
  sizeOf: ({ preamble }) => 96 + textBytes(preamble),
};

/** About 100 000 names. */
const ITEMS: Bound<ReadonlySet<string>> = { bytes: 8 * 1024 * 1024, sizeOf: ({ size }) => 80 * size };

/** The caches of all tenants. One per isolate. */
export class TenantCaches {
  private readonly messages = new TenantLru(MESSAGE_COUNTS);
  private readonly texts = new TenantLru(TEXT_COUNTS);
  private readonly facts = new TenantLru(CONTENT_FACTS);
  private readonly previews = new TenantLru(PREVIEWS);
  private readonly digests = new TenantLru(DIGESTS);
  private readonly prepared = new TenantLru(PREPARED);
  private readonly arrays = new KnownArrays();
  private readonly sent = new TenantLru(SENT);
  private readonly lacking = new TenantLru(LACKING);
  private readonly rewriting = new TenantLru(REWRITING);
  private readonly toldEdited = new TenantLru(TOLD_EDITED);
  private readonly closed = new TenantLru(CLOSED);
  private readonly placed = new TenantLru(PLACED);
  private readonly items = new TenantLru(ITEMS);

  /** @param tenant its id */
  of(tenant: string): ContentCaches {
    const counting = async (measure: TokenMeasure): Promise<Counting> => {
      const part = `${tenant}:${measure}`;
      const remembered = { messages: this.messages.of(part), texts: this.texts.of(part) };
      return {
        counter: createTokenCounter(await loadTokenize(measure), remembered),
        facts: this.facts.of(part),
        previews: this.previews.of(part),
      };
    };
    return {
      counting,
      digests: this.digests.of(tenant),
      arrays: this.arrays.of(tenant),
      conversation: (name) => ({
        prepared: this.prepared.of(name),
        sent: this.sent.of(name),
        lacksRounds: this.lacking.of(name),
        rewritesAnswers: this.rewriting.of(name),
        toldEdited: this.toldEdited.of(name),
        closed: this.closed.of(name),
        instructions: this.placed.of(name),
        items: this.items.of(name),
      }),
    };
  }

  /** Forgets all of a tenant, or what is kept by a conversation's name. @param owner id or name */
  forget(owner: string): void {
    const { messages, texts, facts, previews, digests, prepared, arrays } = this;
    const { sent, lacking, rewriting, toldEdited, closed, placed, items } = this;
    const contents = [messages, texts, facts, previews, digests, prepared, arrays];
    const ofConversations = [sent, lacking, rewriting, toldEdited, closed, placed, items];
    for (const each of [...contents, ...ofConversations]) each.forget(owner);
  }

  /** The caches of a request without a tenant. They end with it. */
  static ofRequest(): ContentCaches {
    return new TenantCaches().of('');
  }
}
