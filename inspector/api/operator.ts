/** Asks the routes of the deployment's operator, with `ADMIN_TOKEN`. It goes to no other route. */
import { operatorWords } from '../read/operator-words.ts';
import type {
  CallerChange,
  CallerDeletion,
  DeploymentHealth,
  Page,
  ShownCaller,
  ShownOverview,
} from './answers.ts';
import { type Asking, Connection, type Credentials, Failure } from './connection.ts';
import { pagesOf } from './pages.ts';

const CALLERS = 'v1/admin/callers';

/** Callers of the first pages, and whether there are more. */
export interface CallersRead {
  readonly callers: readonly ShownCaller[];
  readonly hasMore: boolean;
}

export class Operator {
  private readonly worker: Connection;

  constructor(credentials: Credentials) {
    this.worker = new Connection(credentials);
  }

  /** @throws Failure if the deployment does not know the token */
  async checkToken(): Promise<void> {
    await this.json(`${CALLERS}?limit=1`);
  }

  /** Writes, reads and asks what the deployment depends on. */
  health(signal: AbortSignal): Promise<DeploymentHealth> {
    return this.json('v1/admin/health', { signal });
  }

  /** @param most tenants that are read; undefined: the usual number */
  overview(days: number, most: number | undefined, signal: AbortSignal): Promise<ShownOverview> {
    const query = most === undefined ? '' : `&most=${most}`;
    return this.json(`v1/admin/overview?days=${days}${query}`, { signal });
  }

  /** @param show takes what is there so far */
  async callers(pages: number, signal: AbortSignal, show: (part: CallersRead) => void): Promise<CallersRead> {
    let read: CallersRead = { callers: [], hasMore: false };
    let left = pages;
    for await (const { data, has_more: hasMore } of pagesOf((cursor) => this.page(cursor, signal))) {
      read = { callers: [...read.callers, ...data], hasMore };
      if (--left === 0) break;
      if (hasMore) show(read);
    }
    return read;
  }

  private page(cursor: string | null, signal: AbortSignal): Promise<Page<ShownCaller>> {
    return this.json(`${CALLERS}${cursor === null ? '' : `?${new URLSearchParams({ cursor })}`}`, { signal });
  }

  /** Only what the change names. */
  change(name: string, change: CallerChange): Promise<ShownCaller> {
    return this.json(pathOf(name), { method: 'PATCH', body: change });
  }

  /** Sets a caller as it usually is: active, with the limits of the configuration. */
  restore(name: string): Promise<ShownCaller> {
    return this.json(pathOf(name), { method: 'PUT', body: {} });
  }

  /** @throws Failure `caller_exists`, which the route itself takes for a change */
  async add(name: string): Promise<ShownCaller> {
    if (await this.exists(name))
      throw new Failure(409, 'caller_exists', operatorWords({ status: 409, code: 'caller_exists' }));
    return this.restore(name);
  }

  /** Whether all is deleted; the rest is deleted in the background. */
  async delete(name: string): Promise<boolean> {
    const { deleted } = await this.json<CallerDeletion>(pathOf(name), { method: 'DELETE' });
    return deleted;
  }

  private async exists(name: string): Promise<boolean> {
    try {
      const { state } = await this.json<ShownCaller>(pathOf(name));
      return state !== 'deleted';
    } catch (error) {
      if (error instanceof Failure && error.code === 'caller_not_found') return false;
      throw error;
    }
  }

  /** @throws Failure in the operator's words */
  private async json<Answer>(path: string, init: Asking = {}): Promise<Answer> {
    try {
      return await this.worker.json<Answer>(path, init);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { status, code, message, requestId } = error;
      throw new Failure(status, code, operatorWords({ status, code, message }), requestId);
    }
  }
}

function pathOf(name: string): string {
  return `${CALLERS}/${encodeURIComponent(name)}`;
}
