/**
 * Who is signed in, and how long this browser remembers it (SECURITY.md): not at all, until the tab
 * is closed, or for a week. Nothing that is kept here is the key: a tab keeps a text that the
 * Worker has sealed, and a browser a word that goes with a cookie, which no script can read.
 */
import type { SessionAnswer } from '../../src/reference/schemas/stored.ts';
import { bearer, Connection, type Credentials, Failure } from './connection.ts';

export type Kept = 'no' | 'tab' | 'browser';

/** Of whom a sign-in is: each has its own, also at the same time. */
const PATHS = { caller: 'v1/session', operator: 'v1/admin/session' } as const;
type Whose = keyof typeof PATHS;

/** So long before it ends a token is renewed, in milliseconds. */
const EARLY_MS = 20_000;

interface PageToken {
  readonly token: string;
  /** By this browser's clock, which may differ from the Worker's, in milliseconds since 1970. */
  readonly renewAt: number;
}

export class SignIn {
  /** Before each request. */
  readonly credentials: Credentials = (signal) => this.headers(signal);
  readonly kept: Kept;
  private readonly whose: Whose;
  private readonly secret: Readonly<Record<string, string>> | undefined;
  private page: PageToken | undefined;
  private renewing: Promise<SessionAnswer> | undefined;
  private onOver: () => void = () => undefined;

  private constructor(
    whose: Whose,
    kept: Kept,
    secret?: Readonly<Record<string, string>>,
    page?: SessionAnswer,
  ) {
    this.whose = whose;
    this.kept = kept;
    this.secret = secret;
    this.page = page && pageToken(page);
  }

  /** With a secret that somebody has entered; it stays in this variable if nothing is kept. */
  static async with(whose: Whose, secret: Readonly<Record<string, string>>, kept: Kept): Promise<SignIn> {
    if (kept === 'no') return new SignIn(whose, kept, secret);
    const page = await new Connection(() => secret).json<SessionAnswer>(PATHS[whose], {
      method: 'POST',
      credentials: 'same-origin',
      body: { keep: kept },
    });
    forget(whose);
    storageOf(kept).setItem(nameOf(whose), (kept === 'tab' ? page.kept : page.csrf) ?? '');
    return new SignIn(whose, kept, undefined, page);
  }

  /** What an earlier page has left; undefined without it. It is renewed by the first request. */
  static remembered(whose: Whose): SignIn | undefined {
    const kept = (['tab', 'browser'] as const).find((one) => storageOf(one).getItem(nameOf(whose)) !== null);
    return kept && new SignIn(whose, kept);
  }

  /** Forgets the sign-in here, and in this browser. @param everywhere also in all others */
  async end(everywhere = false): Promise<void> {
    if (this.kept !== 'no' || everywhere) {
      const query = everywhere ? '?everywhere=true' : '';
      const options = { method: 'DELETE', credentials: 'same-origin' } as const;
      const ended = new Connection(this.credentials).response(`${PATHS[this.whose]}${query}`, options);
      await (everywhere ? ended : ended.catch(unlessOver));
    }
    forget(this.whose);
  }

  /** Calls back once the Worker says that the sign-in is over. */
  whenOver(call: () => void): void {
    this.onOver = call;
  }

  private async headers(signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
    if (this.secret) return this.secret;
    if (!this.page || this.page.renewAt < Date.now()) await this.renew(signal);
    return bearer(this.page?.token ?? '');
  }

  /** One renewal at a time, whoever waits for it. */
  private async renew(signal?: AbortSignal): Promise<void> {
    this.renewing ??= this.renewed().finally(() => {
      this.renewing = undefined;
    });
    this.page = pageToken(await this.renewing);
    signal?.throwIfAborted();
  }

  /** @throws Failure `session_ended` once the sign-in is over, which is forgotten then */
  private async renewed(): Promise<SessionAnswer> {
    const word = storageOf(this.kept).getItem(nameOf(this.whose)) ?? '';
    const header = this.kept === 'tab' ? 'x-precis-session' : 'x-precis-csrf';
    const asking = { method: 'POST', credentials: 'same-origin', headers: { [header]: word } } as const;
    try {
      return await new Connection(() => ({})).json<SessionAnswer>(PATHS[this.whose], asking);
    } catch (error) {
      if (error instanceof Failure && ENDED.includes(error.status)) {
        forget(this.whose);
        this.onOver();
      }
      throw error;
    }
  }
}

/** A token that the Worker has just made. */
function pageToken({ token, expires_in: seconds }: SessionAnswer): PageToken {
  return { token, renewAt: Date.now() + seconds * 1_000 - EARLY_MS };
}

/** Statuses of a sign-in that has ended. */
const ENDED: readonly number[] = [401, 403];

/** Where the Worker has ended it already, or the deployment no longer has an operator. */
function unlessOver(error: unknown): void {
  if (!(error instanceof Failure) || ![...ENDED, 404].includes(error.status)) throw error;
}

function storageOf(kept: Kept): Storage {
  return kept === 'browser' ? localStorage : sessionStorage;
}

function nameOf(whose: Whose): string {
  return `precis-${whose}`;
}

function forget(whose: Whose): void {
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(nameOf(whose));
}
