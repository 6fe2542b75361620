/**
 * The Durable Object of one conversation (docs/design.md#7-storage). The chain decides; this class
 * adds a clock and a log, and makes all texts under its own `waitUntil`.
 */

import { soon, within } from '../../lib/time-limit.ts';
import type { Log } from '../../log.ts';
import { billSumsJson } from '../../memory/money/bill-sums.ts';
import { TIME_LIMITS } from '../../time-limits.ts';
import type { Embedder } from '../archive/embedder.ts';
import { ArchiveEmbedding } from '../archive/embedding.ts';
import { type ArchiveRow, ArchiveRows } from '../archive/rows.ts';
import { ArchiveSearch } from '../archive/search.ts';
import {
  type NotTaken,
  ObjectBackup,
  type PartName,
  type PutBack,
  type PutBackState,
  SavedObject,
} from '../object-backup.ts';
import { type TenantMemoryStub, tenantMemory } from '../objects.ts';
import type { StoredPart } from '../tables.ts';
import { BillLedger } from './bills.ts';
import { MemoryChain } from './chain.ts';
import { ColdReturns, type WaitingRequest } from './cold-returns.ts';
import { Deployer } from './deployer.ts';
import { FrozenBlocks } from './frozen-blocks.ts';
import { type AnswerVerdict, KeptAnswerRows, type NewAnswer } from './kept-answers.ts';
import { KeptRoundsRows, type NewRounds, type RoundsVerdict } from './kept-rounds.ts';
import { Making } from './making.ts';
import type {
  ConversationNumbers,
  Memory,
  Overview,
  SavedMemory,
  TextAnswer,
  TextRequest,
  WrittenText,
} from './memories.ts';
import { logNameOf, openingIn, tenantIn } from './names.ts';
import { type DigestAnswer, type DigestOrder, OutputDigests, unmade } from './output-digests.ts';
import type { ConversationApi, Left } from './remote.ts';
import type { RunBatch } from './run-batch.ts';
import { RunEvents } from './run-events.ts';
import { ConversationState } from './state.ts';
import { type ConversationSums, SumReports } from './sum-reports.ts';
import { ConversationTables } from './tables.ts';
import { type EndedText, type TextProgress, Texts } from './texts.ts';
import { UseReports } from './use-reports.ts';

/**
 * @param Material the input of a text. It holds the caller's key, so it stays in memory and is
 *   neither stored nor logged
 */
export abstract class ConversationMemoryObject<Material>
  extends SavedObject
  implements ConversationApi<Material>
{
  /** What parts have in common, as it is at the time of a call. */
  private readonly common = {
    now: (): number => this.now(),
    log: (...line: Parameters<Log>): void => this.log(...line),
    waitUntil: (work: Promise<unknown>): void => this.ctx.waitUntil(work),
  };

  private readonly deployer = new Deployer(this.ctx, this.env, this.common.log);
  protected override readonly tables = new ConversationTables(this.ctx.storage, this.common.now);
  private readonly values = new ConversationState(this.tables);
  private readonly runs = new RunEvents(this.tables, (misses) => this.deployer.missed(misses));
  private readonly bills = new BillLedger(this.tables, {
    requests: this.runs,
    spent: () => this.sums.changed(),
  });
  private readonly made = new Making<number, EndedText>(this.common.waitUntil);
  private readonly madeDigests = new Making<string, DigestAnswer>(this.common.waitUntil);
  private readonly chain = new MemoryChain(
    { tables: this.tables, state: this.values, bills: this.bills },
    {
      ...this.common,
      logName: () => logNameOf(this.ctx.id.name ?? ''),
      settled: (summary) => this.deployer.settled(summary),
      healthChanged: (...health) => this.deployer.healthChanged(...health),
      making: () => this.made.keys(),
    },
    openingIn(this.ctx.id.name ?? ''),
  );
  private readonly blocks = new FrozenBlocks(this.tables);
  private readonly digests = new OutputDigests<Material>(this.tables, {
    bills: this.bills,
    making: this.madeDigests,
    write: (material, progress) => this.write(material, null, progress),
    ...this.common,
  });
  private readonly index = new ArchiveRows(this.tables);
  private readonly rounds = new KeptRoundsRows(this.tables);
  private readonly answers = new KeptAnswerRows(this.tables);
  private readonly returns = new ColdReturns(this.tables, this.runs);

  /** What a conversation remembers. Its tables go when none of these has anything left. */
  private readonly memory: readonly StoredPart[] = [
    this.chain,
    this.values,
    this.blocks.table,
    this.digests,
    this.index,
  ];
  /** What is no memory. It goes with the conversation alone. */
  private readonly records: readonly StoredPart[] = [
    this.runs.tables,
    this.rounds.table,
    this.answers.table,
    this.returns.table,
  ];

  protected override readonly backup = new ObjectBackup(this.tables);

  private readonly embedding = new ArchiveEmbedding(this.index.vectors, {
    embedder: () => this.embedder(),
    ...this.common,
  });
  private readonly archiveSearch = new ArchiveSearch(this.tables, this.index, this.embedding);

  private readonly texts = new Texts<Material>({
    chain: this.chain,
    making: this.made,
    writing: (since, late, work) => this.writing(since, late, work),
    write: (...text) => this.write(...text),
    publish: (...text) => this.publish(...text),
    ...this.common,
  });

  private readonly uses = new UseReports({
    exists: () => this.exists(),
    reportedAt: () => this.tables.get('told_at') ?? 0,
    saveReportedAt: (at) => this.tables.set('told_at', at),
    report: () => this.report(),
    ...this.common,
  });

  private readonly sums = new SumReports({
    sums: () => this.sumsToReport(),
    report: (sums) => this.reportSums(sums),
    setAlarm: (at) => this.ctx.storage.setAlarm(at),
    ...this.common,
  });

  /** Makes a text of its material, as long as it goes on. @param base the version to build on */
  protected abstract write(
    material: Material,
    base: Memory | null,
    progress: TextProgress,
  ): Promise<WrittenText>;

  /** Publishes a new version, if its material says so. Never rejects. */
  protected abstract publish(material: Material, text: string): Promise<void>;

  /** The model that makes vectors of archived messages; undefined if none are wanted. */
  protected abstract embedder(): Embedder | undefined;

  // `ConversationApi` documents the methods; the class of a part documents its methods.

  get versions() {
    return {
      ...this.uses.part(this.chain, { find: 'reads', pinDigest: 'looks', overview: 'looks' }),
      keepDigest: (...order: Parameters<MemoryChain['keepDigest']>) =>
        this.writing(order[0].since, null, () => this.chain.keepDigest(...order)),
    };
  }

  get state() {
    const { values, uses } = this;
    return {
      ...uses.part(values, { configure: 'writes', injection: 'reads', freezeInjection: 'writes' }),
      settings: (isUse = true) => {
        if (isUse) uses.reading();
        return values.settings();
      },
    };
  }

  get frozenBlocks() {
    return this.uses.part(this.blocks, { at: 'reads', freeze: 'writes' });
  }

  get outputDigests() {
    return {
      ...this.uses.part(this.digests, { find: 'reads' }),
      make: async (orders: readonly DigestOrder<Material>[], waitMs: number, since: number) =>
        this.writing(since, Promise.resolve(orders.map(unmade)), () => this.digests.make(orders, waitMs)),
    };
  }

  get keptRounds() {
    const { rounds, uses } = this;
    return {
      ...uses.part(rounds, { find: 'reads' }),
      add: (added: NewRounds) => {
        const refused: RoundsVerdict = { kept: null, gone: added.names };
        return this.writing(added.since, refused, () => rounds.add(added), added.until);
      },
    };
  }

  get keptAnswers() {
    const { answers, uses } = this;
    return {
      ...uses.part(answers, { find: 'reads', read: 'looks', forget: 'looks' }),
      add: (added: NewAnswer) => {
        const refused: AnswerVerdict = { kept: null, isOthers: false };
        return this.writing(added.since, refused, () => answers.add(added));
      },
    };
  }

  get coldReturns() {
    const { returns, uses } = this;
    return {
      find: async (waiting: WaitingRequest | null): Promise<readonly string[]> => {
        uses.reading();
        const points = returns.points();
        if (!waiting || !returns.isNew(waiting)) return points;
        if (!waiting.isSent) return [...points, waiting.point];
        return this.writing(waiting.since, points, () => returns.add(waiting));
      },
    };
  }

  get events() {
    const { runs, uses } = this;
    return {
      ...uses.part(runs, { askedAt: 'looks', answered: 'looks', lines: 'looks' }),
      add: async (batch: RunBatch) => {
        if (runs.areLate(batch)) return;
        await uses.writing(() => runs.add(batch));
        this.sums.changed();
      },
      page: (before: number | null, most: number) => (this.exists() ? runs.page(before, most) : null),
      find: (n: number) => (this.exists() ? runs.find(n) : null),
    };
  }

  get archive() {
    return {
      ...this.uses.part(this.index, {
        lacking: 'looks',
        archivedAt: 'reads',
        count: 'looks',
        texts: 'reads',
        packsAfter: 'looks',
        page: 'reads',
      }),
      ...this.uses.part(this.archiveSearch, { search: 'reads', hits: 'reads' }),
      notePacks: (after: string | null, packs: readonly string[], since: number) =>
        this.writing(since, null, () => this.index.notePacks(after, packs)),
      add: (generation: string, rows: readonly ArchiveRow[]) => {
        const isAdded = this.index.add(generation, rows);
        const embedding = isAdded ? this.embedding.catchUp() : undefined;
        if (embedding) this.ctx.waitUntil(embedding);
        return isAdded;
      },
    };
  }

  text(request: TextRequest, material: Material | null, waitMs: number): Promise<TextAnswer> {
    if (!material) this.uses.reading();
    return this.texts.get(request, material, waitMs);
  }

  async standing(): Promise<ConversationNumbers> {
    // Who reads a list reads sums, too.
    await soon(TIME_LIMITS.keptEventsMs, this.sums.report());
    const { count, run } = this.runs.newest();
    const newest = run && {
      model: run.model,
      agent: run.agent ?? null,
      at: run.created_at,
      status: run.status,
    };
    return { ...this.chain.standing(), requests: count, newest };
  }

  async restore(saved: SavedMemory): Promise<Overview> {
    await this.report();
    this.texts.drop();
    this.tables.atOnce(() => this.chain.restore(saved));
    // Reported again, since a deletion may have come in between.
    this.uses.reading();
    return this.chain.overview();
  }

  async idle(ms: number): Promise<boolean> {
    const end = Date.now() + ms;
    for (;;) {
      const work = [...this.made.work(), ...this.madeDigests.work()];
      if (work.length === 0) return true;
      const left = end - Date.now();
      if (left <= 0) return false;
      await soon(left, Promise.race(work));
    }
  }

  async leave(unusedSince?: number): Promise<Left> {
    const left = await this.strip(unusedSince);
    // Before its tenant's object forgets the sums: a call that lands later would bring them back.
    if (left.of !== 'all') await within(TIME_LIMITS.objectCallMs, this.sums.settled());
    return left;
  }

  /** Deletes what can go at once. */
  private async strip(unusedSince?: number): Promise<Left> {
    // Objects of a restore that has not come to its end.
    const packsAside = this.backup.columnAside('archive_packs', 'pack').map(String);
    this.backup.drop();
    if (!this.exists()) {
      // What belongs to its requests may be on its way.
      if (unusedSince === undefined) this.dropLate();
      return { of: 'nothing', existed: false, packs: packsAside };
    }
    const usedAt = this.tables.get('told_at') ?? 0;
    if (unusedSince !== undefined && usedAt >= unusedSince) return { of: 'all', usedAt };
    const settings = unusedSince !== undefined && this.values.hasSettings();
    this.dropLate();
    for (const part of [...this.memory, ...this.records]) part.strip(settings);
    const packs = this.index.leaving();
    if (packs.length === 0 && !settings) await this.clear();
    return { of: settings ? 'settings' : 'nothing', existed: true, packs };
  }

  async forgetPacks(packs: readonly string[]): Promise<void> {
    this.index.forgetPacks(packs);
    await this.clearIfEmpty();
  }

  override alarm(): Promise<void> {
    return this.sums.due();
  }

  override async putAside(name: PartName, text: string): Promise<void> {
    if (name.part === 0 && (await this.notTaken(name)) !== null) return;
    // Reported before, since a deletion must find it.
    await this.uses.writing(() => this.backup.putAside(name, text));
  }

  hasAside(backup: string): boolean {
    return this.backup.hasAside(backup);
  }

  async putBack(saved: PutBack): Promise<PutBackState> {
    const notTaken = await this.notTaken(saved);
    if (notTaken !== null) {
      this.backup.drop();
      return notTaken;
    }
    const state = await this.uses.writing(() => (this.exists() ? 'kept' : this.backup.putBack(saved)));
    // Where `at` is later than a deletion that has kept its parts away, the deletion is the cause.
    if (state === 'missing') return (await this.notTaken({ ...saved, at: 0 })) ?? state;
    if (state === 'kept') this.backup.drop();
    this.sums.changed();
    return state;
  }

  async clear(): Promise<void> {
    this.texts.drop();
    this.madeDigests.drop();
    await this.deleteAll();
  }

  /** Why it does not come back from a backup. */
  private async notTaken({ used, at }: Pick<PutBack, 'used' | 'at'>): Promise<NotTaken | null> {
    if (this.exists()) return 'kept';
    return this.atTenant((stub, name) => stub.refuses(name, used, at));
  }

  /** Drops what is in the making, and has what requests before this moment bring later refused. */
  private dropLate(): void {
    this.tables.noteDeletion();
    this.texts.drop();
    this.madeDigests.drop();
  }

  /**
   * Runs work that may write for a request, unless that came before a deletion.
   *
   * @param since when it came
   * @param late the result otherwise
   * @param until a later call does not write either
   * @throws StoreError see `UseReports`
   */
  private async writing<Result>(
    since: number,
    late: Result,
    work: () => Result,
    until = Number.POSITIVE_INFINITY,
  ): Promise<Result> {
    const isLate = () => this.tables.isLate(since) || this.now() > until;
    // Before the conversation is reported, which would bring it back.
    if (isLate()) return late;
    // A deletion may come while it is reported.
    return this.uses.writing(() => (isLate() ? late : work()));
  }

  /** Whether anything is stored, memory or not. */
  private exists(): boolean {
    return this.tables.exists() || this.hasRecords();
  }

  private hasRecords(): boolean {
    return this.records.some((part) => part.any());
  }

  /** Deletes the tables of a memory of which nothing is left. */
  private async clearIfEmpty(): Promise<void> {
    if (!this.tables.exists() || this.memory.some((part) => part.any())) return;
    if (this.hasRecords()) this.tables.unmake();
    else await this.clear();
  }

  private async report(): Promise<void> {
    await this.atTenant((stub, name) => stub.note(name, []));
  }

  private reportSums(sums: ConversationSums): Promise<void> {
    return this.atTenant((stub, name) => stub.noteSums(name, sums));
  }

  private async atTenant<Result>(
    call: (stub: TenantMemoryStub, name: string) => Promise<Result>,
  ): Promise<Result> {
    const name = this.ownName;
    return tenantMemory(this.env, tenantIn(name), this.log)((stub) => call(stub, name));
  }

  private sumsToReport(): ConversationSums | undefined {
    const days = this.bills.days();
    if (Object.keys(days).length === 0) return undefined;
    const { count, run } = this.runs.newest();
    const { net, actual } = billSumsJson(this.bills.sums());
    return {
      requests: count,
      net,
      lastRequest: run?.created_at ?? null,
      model: run?.model ?? null,
      paid: actual,
      lastStatus: run?.status ?? null,
      agent: run?.agent ?? null,
      days,
    };
  }
}
