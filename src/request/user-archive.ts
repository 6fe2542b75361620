/**
 * The archives of all conversations of one user, and the passages that models keep for them
 * (docs/conversations.md#all-conversations-of-a-user). Passages are the archive of a conversation
 * without a caller: they have its encryption, its index, its vectors, and go with the tenant's
 * data.
 */
import { StoreError } from '../lib/store-error.ts';
import { after } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import type { Warning } from '../memory/plan/report.ts';
import { type UserArchiveScope, userArchiveScope } from '../memory/strategy/fields.ts';
import { type Inserted, MOST_PASSAGES } from '../retrieval/insert-passage.ts';
import type { Found, FoundHits, Searched } from '../retrieval/search-memory.ts';
import { Archive } from '../storage/archive/archive.ts';
import { mergeArchives } from '../storage/archive/fusion.ts';
import { type MadeNear, nearOf } from '../storage/archive/near.ts';
import type { ArchiveHits } from '../storage/archive/search.ts';
import { searchable } from '../storage/archive/text.ts';
import { idsIn, PASSAGES, userName } from '../storage/conversation/names.ts';
import type { StoredConversation } from '../summary/conversation.ts';
import { sha256Hex, type Tenant, tenantsOf } from '../tenant/identity.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import { rememberedOf } from './beliefs.ts';
import type { Call } from './call.ts';
import { storedConversation } from './conversation.ts';
import type { Services } from './services.ts';

/** The conversations that one search reads, the last used ones. */
const MOST_SEARCHED = 20;

/** The role of a passage in its archive. */
const PASSAGE = 'passage';

/** The conversation whose archive holds a user's passages. */
export function passagesOf(user: string, tenant: Tenant, services: Services): StoredConversation {
  return storedConversation(user, PASSAGES, tenant, services);
}

/** A conversation of the user, also one under the earlier secret. */
interface Searchable {
  readonly archive: Archive;
  /** The caller's id; null without one. */
  readonly id: string | null;
  readonly isPassages: boolean;
}

/** An archive's hits; null if nothing is stored of its conversation. */
type Answer = { readonly one: Searchable; readonly found: ArchiveHits } | null | 'failed';

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
   * The best messages of all conversations, those with the words first (`mergeArchives`); of equals
   * the one that was used last. A conversation that fails, or doesn't answer in time, is left out.
   *
   * @throws if that leaves nothing, or if the conversations can't be listed
   */
  async hits(words: string, limit: number): Promise<FoundHits | null> {
    const answers = await this.answersOf(words, limit);
    const lists = answers.flatMap((answer) => (answer === null || answer === 'failed' ? [] : [answer]));
    if (lists.length === 0 && answers.includes('failed'))
      throw new StoreError(new Error('no archive answers'));
    const merged = mergeArchives(
      lists.map(({ one, found }) => found.hits.map((hit) => ({ ...hit, ...namesOf(one) }))),
    );
    const meanings = lists.map(({ found }) => found.meaning);
    const meaning = meanings.includes('failed') ? 'failed' : meanings.includes('used') ? 'used' : 'off';
    return { hits: merged.slice(0, limit), meaning };
  }

  /** Keeps a passage. @throws if storage fails */
  async insert(passage: string): Promise<Inserted> {
    const conversation = passagesOf(this.user, this.tenant, this.services);
    const archive = this.archiveOf(conversation);
    const key = sha256Hex(`passage ${passage}`);
    const [known] = await archive.times([key]);
    if (known != null) return 'known';
    const count = await conversation.memory((stub) => stub.archive.count());
    if (count >= MOST_PASSAGES) return 'too_many';
    const json = new TextEncoder().encode(JSON.stringify({ role: PASSAGE, content: passage }));
    const facts = { key, chained: false, position: count, role: PASSAGE, isAnswer: false, json };
    await archive.add([{ ...facts, text: () => searchable([passage]) }], Date.now());
    return 'kept';
  }

  /** What the archives answer in time, in their order. */
  private async answersOf(words: string, limit: number): Promise<Answer[]> {
    const time = after(TIME_LIMITS.userHitsMs);
    try {
      const { searched, isEmpty } = await this.conversations();
      const made = isEmpty ? null : await this.nearOf(words);
      const late = async (): Promise<never> => {
        await time.over;
        throw new StoreError(new Error(`no answer within ${TIME_LIMITS.userHitsMs} ms`));
      };
      // All at once, so that a silent one holds up no other.
      return await Promise.all(
        searched.map(async (one) => {
          try {
            const found = await Promise.race([one.archive.hits(words, limit, null, made), late()]);
            return found && { one, found };
          } catch (error) {
            logCaught(this.services.log, 'warn', 'an archive of a user could not be searched', error);
            return 'failed';
          }
        }),
      );
    } finally {
      time.clear();
    }
  }

  /** The vector of the words, made once for all archives; null without embeddings. */
  private async nearOf(words: string): Promise<MadeNear | null> {
    const embedder = this.services.embedder();
    if (!embedder) return null;
    const near = await nearOf(words, embedder, TIME_LIMITS.userVectorMs, this.services.log);
    return { model: embedder.model, near };
  }

  /**
   * The passages, and the last used conversations, also those under the earlier secret.
   *
   * @returns also whether nothing of the user is kept
   */
  private async conversations(): Promise<{ searched: Searchable[]; isEmpty: boolean }> {
    const each = await Promise.all(
      tenantsOf(this.tenant).map(async (tenant) => {
        const passages = passagesOf(this.user, tenant, this.services);
        const prefix = `${userName(tenant.id, this.user)}:`;
        const names = await this.services.tenant(tenant.id)((stub) =>
          stub.conversations.namesWith(prefix, MOST_SEARCHED + 1),
        );
        return { passages, names };
      }),
    );
    const passages = each.map(({ passages }) => ({
      archive: this.archiveOf(passages),
      id: null,
      isPassages: true,
    }));
    const others = each.flatMap(({ passages, names }) =>
      names
        .filter((name) => name !== passages.name)
        .map((name) => ({
          archive: this.archiveOf({ ...passages, ...this.placeOf(name) }),
          id: idsIn(name).conversation ?? null,
          isPassages: false,
        })),
    );
    const isEmpty = each.every(({ names }) => names.length === 0);
    return { searched: [...passages, ...others.slice(0, MOST_SEARCHED)], isEmpty };
  }

  private placeOf(name: string): Pick<StoredConversation, 'name' | 'memory' | 'remembered'> {
    const { conversation, memory } = this.services;
    return { name, memory: conversation(name), remembered: rememberedOf(memory, name) };
  }

  private archiveOf(conversation: Pick<StoredConversation, 'tenant' | 'name' | 'memory' | 'remembered'>) {
    return new Archive(conversation, this.services.bucket, this.services.log);
  }
}

function namesOf({ id, isPassages }: Searchable): Pick<Found, 'conversation' | 'isPassage'> {
  return isPassages ? { isPassage: true } : { conversation: id };
}

/**
 * What the model may reach; undefined if nothing was asked for; a warning if it can't have it: the
 * deployer must allow it, and the request must name the user.
 */
export function userArchiveOf({ chosen, owner, scope }: Call): UserArchiveScope | Warning | undefined {
  const asked = userArchiveScope(chosen.strategy.archive);
  if (!asked) return undefined;
  if (!scope.services.config.userArchives) return 'user_archive_off';
  return owner.user === undefined ? 'no_user' : asked;
}
