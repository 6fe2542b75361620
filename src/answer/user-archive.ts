/**
 * The archives of all conversations of one user, and the passages that models keep for them
 * (docs/design.md#7-storage). Passages are the archive of a conversation without a caller: they
 * have its encryption, its index, its vectors, and go with the tenant's data.
 */
import { within } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { storedConversation } from '../request/conversation.ts';
import type { Services } from '../request/services.ts';
import { type Inserted, MOST_PASSAGES } from '../retrieval/insert-passage.ts';
import type { Found, FoundHits, Searched } from '../retrieval/search-memory.ts';
import { Archive } from '../storage/archive/archive.ts';
import { searchable } from '../storage/archive/text.ts';
import { idsIn, PASSAGES, userName } from '../storage/conversation/key.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { selvesOf, sha256Hex, type Tenant } from '../tenant/identity.ts';

/**
 * How long an archive may take, in milliseconds: less than a search as a whole. A vector of the
 * words is waited for for two seconds.
 */
const SEARCH_LIMIT_MS = 2_500;

/** The conversations that one search reads, the last used ones. */
const MOST_SEARCHED = 20;

/** The role of a passage in its archive. */
const PASSAGE = 'passage';

/** The conversation whose archive holds a user's passages. */
export function passagesOf(user: string, tenant: Tenant, services: Services): StoredConversation {
  return storedConversation(user, PASSAGES, tenant, services);
}

/** A conversation of the user, of one of the tenant's selves. */
interface Searchable {
  readonly archive: Archive;
  /** The caller's id; null without one. */
  readonly id: string | null;
  readonly isPassages: boolean;
}

export class UserArchive implements Searched {
  private readonly user: string;
  private readonly tenant: Tenant;
  private readonly services: Services;

  /** @param user as the caller names it */
  constructor(user: string, tenant: Tenant, services: Services) {
    this.user = user;
    this.tenant = tenant;
    this.services = services;
  }

  /**
   * The best messages of all conversations, each conversation's best first. Scores of different
   * indexes can't be compared, so the places in their lists decide, and then the last use.
   *
   * @throws if storage fails in all of them
   */
  async hits(words: string, limit: number): Promise<FoundHits | null> {
    const searched = await this.conversations();
    // At once, since each object asks for the vector of the words, and may wait for it in vain.
    const asking = searched.map(async (one) => {
      try {
        const found = await within(SEARCH_LIMIT_MS, one.archive.hits(words, limit));
        return found && { one, found };
      } catch (error) {
        logCaught(this.services.log, 'warn', 'an archive of a user could not be searched', error);
        return 'failed' as const;
      }
    });
    const answers = await Promise.all(asking);
    if (answers.length > 0 && answers.every((answer) => answer === 'failed'))
      throw new Error('no archive answers');
    const lists = answers.flatMap((answer) => (answer === null || answer === 'failed' ? [] : [answer]));
    const ranked = lists.flatMap(({ one, found }, list) =>
      found.hits.map((hit, place) => ({ list, place, hit: { ...hit, ...namesOf(one) } satisfies Found })),
    );
    ranked.sort((a, b) => a.place - b.place || a.list - b.list);
    const meanings = lists.map(({ found }) => found.meaning);
    const meaning = meanings.includes('failed') ? 'failed' : meanings.includes('used') ? 'used' : 'off';
    return { hits: ranked.slice(0, limit).map(({ hit }) => hit), meaning };
  }

  /** Keeps a passage. @throws if storage fails */
  async insert(passage: string): Promise<Inserted> {
    const conversation = passagesOf(this.user, this.tenant, this.services);
    const archive = this.archiveOf(conversation);
    const key = sha256Hex(`passage ${passage}`);
    const [known] = await archive.times([key]);
    if (known != null) return 'known';
    const count = await conversation.memory((stub) => stub.archivedCount());
    if (count >= MOST_PASSAGES) return 'too_many';
    const json = new TextEncoder().encode(JSON.stringify({ role: PASSAGE, content: passage }));
    const facts = { key, chained: false, position: count, role: PASSAGE, isAnswer: false, json };
    await archive.add([{ ...facts, text: () => searchable([passage]) }]);
    return 'kept';
  }

  /** The passages and the last used conversations, also those under the earlier secret. */
  private async conversations(): Promise<Searchable[]> {
    const each = await Promise.all(
      selvesOf(this.tenant).map(async (self): Promise<[passages: Searchable, others: Searchable[]]> => {
        const passages = passagesOf(this.user, self, this.services);
        const prefix = `${userName(self.id, this.user)}:`;
        const names = await this.services.tenant(self.id)((stub) =>
          stub.namesWith(prefix, MOST_SEARCHED + 1),
        );
        const others = names.filter((name) => name !== passages.name);
        return [
          { archive: this.archiveOf(passages), id: null, isPassages: true },
          others.map((name) => ({
            archive: this.archiveOf({ ...passages, ...this.placeOf(name) }),
            id: idsIn(name).conversation ?? null,
            isPassages: false,
          })),
        ];
      }),
    );
    const passages = each.map(([own]) => own);
    return [...passages, ...each.flatMap(([, others]) => others).slice(0, MOST_SEARCHED)];
  }

  private placeOf(name: string): Pick<StoredConversation, 'name' | 'memory' | 'remembered'> {
    const { conversation, remembered } = this.services;
    return { name, memory: conversation(name), remembered: remembered.of(name) };
  }

  private archiveOf(conversation: Pick<StoredConversation, 'tenant' | 'name' | 'memory' | 'remembered'>) {
    return new Archive(conversation, this.services.bucket, this.services.log);
  }
}

function namesOf({ id, isPassages }: Searchable): Pick<Found, 'conversation' | 'isPassage'> {
  return isPassages ? { isPassage: true } : { conversation: id };
}
