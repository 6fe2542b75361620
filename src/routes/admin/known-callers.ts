/**
 * The callers of a deployment, as its operator names them: by the names of access keys, and all
 * other tenants by a short name made of their id.
 */
import { dateOfDay, dayOf, monthOf, secondsOf } from '../../lib/utc-time.ts';
import { type CallerLimits, counts } from '../../memory/money/caller-limits.ts';
import { type DaySums, joinDaySums, joinDays, NO_DAY_SUMS, paidOf } from '../../memory/run/day-sums.ts';
import type { ShownCaller } from '../../reference/schemas/admin.ts';
import { ApiError } from '../../request/errors.ts';
import type { Services } from '../../request/services.ts';
import type { RegisteredCaller, SeenTenant } from '../../storage/tenant/callers.ts';
import type { CallerUsage } from '../../storage/tenant/remote.ts';
import { tenantsOf } from '../../tenant/identity.ts';
import { otherCursor } from '../query.ts';

/** In characters of the id: enough for its own name among many thousands. */
const SHORT_ID = 12;
export const SHORT_NAME = /^tenant-([0-9a-f]{12})$/;

/** A caller, and where its data is. */
export interface KnownCaller {
  readonly name: string;
  readonly kind: 'access_key' | 'tenant';
  /** Ids of its tenant: under the secret, and under the one before it. */
  readonly tenants: readonly string[];
  /** Whether `ACCESS_KEYS` has its key. */
  readonly isConfigured: boolean;
  readonly registered: RegisteredCaller | undefined;
  readonly seen: readonly SeenTenant[];
}

export class KnownCallers {
  private readonly services: Services;

  constructor(services: Services) {
    this.services = services;
  }

  /**
   * A page, first those with access keys by name, then the other tenants by id.
   *
   * @param cursor of the page before
   */
  async page(
    cursor: string | undefined,
    most: number,
  ): Promise<{ readonly callers: readonly KnownCaller[]; readonly cursor: string | undefined }> {
    const registered = await this.registered();
    const named = this.named(registered);
    const [kind, after] = placeOf(cursor);
    const left = kind === 'tenant' ? [] : named.filter((name) => name > after);
    const names = left.slice(0, most);
    const callers = await this.ofNames(names, registered);
    const last = names.at(-1);
    if (left.length > names.length) return { callers, cursor: last && `name:${last}` };
    const ofNames = new Set(named.flatMap((name) => this.idsOf(name)));
    // One more than there is room for, to know whether there are more.
    const seen = await this.tenants(kind === 'tenant' ? after : '', most - names.length + 1, ofNames);
    const shown = seen.slice(0, most - names.length);
    const all = [...callers, ...shown.map((one) => ofTenant(one.tenant, registered, [one]))];
    const end = shown.at(-1)?.tenant ?? (kind === 'tenant' ? after : '');
    return { callers: all, cursor: seen.length > shown.length ? `tenant:${end}` : undefined };
  }

  /**
   * The callers that were seen since a time, the last seen first. Each has only the tenants that
   * were seen.
   *
   * @param since in milliseconds since 1970
   * @param most of their tenants
   */
  async recent(
    since: number,
    most: number,
  ): Promise<{ readonly callers: readonly KnownCaller[]; readonly active: number }> {
    const [registered, { tenants, count }] = await Promise.all([
      this.registered(),
      this.services.register((stub) => stub.callers.seenSince(since, most)),
    ]);
    const names = new Map(this.named(registered).flatMap((name) => this.idsOf(name).map((id) => [id, name])));
    const callers = new Map<string, KnownCaller>();
    for (const one of tenants) {
      const name = names.get(one.tenant);
      const found =
        name === undefined ? ofTenant(one.tenant, registered, [one]) : this.ofName(name, registered, [one]);
      const before = callers.get(found.name);
      const both = before && { tenants: [...before.tenants, one.tenant], seen: [...before.seen, one] };
      callers.set(found.name, { ...found, ...both });
    }
    return { callers: [...callers.values()], active: count };
  }

  /** @throws ApiError `caller_not_found` */
  async find(name: string): Promise<KnownCaller> {
    const registered = await this.registered();
    const [own] = this.named(registered).includes(name) ? await this.ofNames([name], registered) : [];
    if (own) return own;
    const [, prefix] = SHORT_NAME.exec(name) ?? [];
    if (prefix !== undefined) {
      const known = registered.find((one) => one.name === name)?.tenant;
      const [seen] = await this.services.register((stub) => stub.callers.seen(prefix, 1));
      if (seen?.tenant.startsWith(prefix)) return ofTenant(seen.tenant, registered, [seen]);
      if (typeof known === 'string') return ofTenant(known, registered, []);
    }
    throw new ApiError('caller_not_found', `There is no caller '${name}'.`, 'name');
  }

  newCaller(name: string): KnownCaller {
    const tenants = this.idsOf(name);
    return { name, kind: 'access_key', tenants, isConfigured: false, registered: undefined, seen: [] };
  }

  /** A caller as it is shown, with what it has used. */
  async shown(caller: KnownCaller): Promise<ShownCaller> {
    const { name, kind, tenants, isConfigured, registered, seen } = caller;
    const now = Date.now();
    const { first } = monthOf(now);
    const today = dayOf(now);
    const usages = await Promise.all(
      tenants.map((id) => this.services.tenant(id)((stub) => stub.usage(first, today))),
    );
    const limits = this.limitsOf(caller);
    const times = [...seen.map(({ lastSeen }) => lastSeen), ...usages.map(({ lastUsed }) => lastUsed ?? 0)];
    const firstSeen = Math.min(...seen.map((one) => one.firstSeen));
    const lastSeen = Math.max(0, ...times);
    const days = Object.entries(usages.map((usage) => usage.days).reduce(joinDays, {}));
    const since = (from: number) => {
      const sums = days.flatMap(([day, one]) => (Number(day) >= from ? [one] : []));
      return {
        from: dateOfDay(from),
        requests: requestsOf(sums.reduce(joinDaySums, NO_DAY_SUMS)),
        counted: limits && counts(limits) ? countedOf(usages, from) : null,
      };
    };
    return {
      object: 'memory.caller',
      name,
      kind,
      state: registered?.state ?? 'active',
      key: kind === 'tenant' ? null : isConfigured ? 'configured' : registered?.keyHash ? 'made' : null,
      limits: limits ?? null,
      limits_from: limits ? (registered?.limits ? 'operator' : 'configuration') : null,
      first_seen_at: Number.isFinite(firstSeen) ? secondsOf(firstSeen) : null,
      last_seen_at: lastSeen > 0 ? secondsOf(lastSeen) : null,
      today: since(today),
      month: since(first),
    };
  }

  /** Undefined for a caller that spends its own money. */
  limitsOf({ name, kind, registered }: KnownCaller): CallerLimits | undefined {
    if (kind === 'tenant') return undefined;
    return registered?.limits ?? this.services.callers.configuredLimits(name);
  }

  private async registered(): Promise<readonly RegisteredCaller[]> {
    return (await this.services.register((stub) => stub.callers.read(null)))?.callers ?? [];
  }

  /** All names of keys, in order. A deleted one stays while the configuration has its key. */
  private named(registered: readonly RegisteredCaller[]): string[] {
    const { access } = this.services.config;
    const configured = (access?.keys ?? []).map(({ name }) => name);
    const added = access
      ? registered.filter(({ tenant, state }) => tenant === null && state !== 'deleted')
      : [];
    return [...new Set([...configured, ...added.map(({ name }) => name)])].sort();
  }

  private async ofNames(
    names: readonly string[],
    registered: readonly RegisteredCaller[],
  ): Promise<KnownCaller[]> {
    const ids = names.map((name) => this.idsOf(name));
    const all =
      names.length === 0 ? [] : await this.services.register((stub) => stub.callers.seenAmong(ids.flat()));
    return names.map((name, at) => {
      const tenants = ids[at] ?? [];
      const seen = all.filter(({ tenant }) => tenants.includes(tenant));
      return { ...this.ofName(name, registered, seen), tenants };
    });
  }

  /** A caller with an access key, with its tenants that were seen. */
  private ofName(
    name: string,
    registered: readonly RegisteredCaller[],
    seen: readonly SeenTenant[],
  ): KnownCaller {
    const isConfigured = (this.services.config.access?.keys ?? []).some((key) => key.name === name);
    const own = registered.find((one) => one.name === name && one.tenant === null);
    const tenants = seen.map(({ tenant }) => tenant);
    return { name, kind: 'access_key', tenants, isConfigured, registered: own, seen };
  }

  private idsOf(name: string): string[] {
    return tenantsOf(this.services.tenants.ofName(name)).map(({ id }) => id);
  }

  private async tenants(after: string, most: number, ofNames: ReadonlySet<string>): Promise<SeenTenant[]> {
    const found: SeenTenant[] = [];
    for (let place = after; found.length < most; ) {
      const page = await this.services.register((stub) => stub.callers.seen(place, most + ofNames.size));
      found.push(...page.filter(({ tenant }) => !ofNames.has(tenant)));
      const last = page.at(-1);
      if (!last || page.length < most + ofNames.size) break;
      place = last.tenant;
    }
    return found.slice(0, most);
  }
}

/** Whether a name is a tenant's, which no access key made here may have. */
export function isTenantName(name: string): boolean {
  return name.startsWith('tenant-');
}

function ofTenant(
  id: string,
  registered: readonly RegisteredCaller[],
  seen: readonly SeenTenant[],
): KnownCaller {
  const own = registered.find(({ tenant }) => tenant === id);
  const name = `tenant-${id.slice(0, SHORT_ID)}`;
  return { name, kind: 'tenant', tenants: [id], isConfigured: false, registered: own, seen };
}

/** @throws ApiError for a cursor that no page has */
function placeOf(cursor: string | undefined): ['name' | 'tenant', after: string] {
  if (cursor === undefined) return ['name', ''];
  // The first tenants come after `tenant:`.
  const [, kind, after] = /^(name(?=:.)|tenant):(.*)$/s.exec(cursor) ?? [];
  if ((kind === 'name' || kind === 'tenant') && after !== undefined) return [kind, after];
  throw otherCursor();
}

/** What conversations have reported. What is not known is null, never 0. */
function requestsOf(sums: DaySums) {
  const { requests, failed, tokens_sent, billed } = sums;
  return { requests, failed, tokens_sent, billed, actual: paidOf(sums) };
}

/** What was counted for limits. */
function countedOf(usages: readonly CallerUsage[], from: number) {
  const days = usages.flatMap(({ spent }) => spent).filter(({ day }) => day >= from);
  const sum = (name: 'requests' | 'tokens' | 'amount'): number =>
    days.reduce((all, day) => all + day[name], 0);
  return { requests: sum('requests'), tokens: sum('tokens'), amount: sum('amount') };
}
