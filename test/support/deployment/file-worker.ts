/**
 * The Workers of a file of tests. A start takes a second of processor, so the files of a process
 * share Workers, one file after the other, and so do the blocks of a file whose deployments are
 * their own. Nothing of one reaches the next one: the Worker forgets what it has learned
 * (`tested-worker.ts`), and with another secret it has other tenants, in other objects.
 */
import { expect } from 'vitest';
import type { WorkerServer } from '../../../tools/own-worker.ts';
import { startBuiltWorker } from './built-worker.ts';
import { ENVIRONMENT_PATH, type Environment } from './environment.ts';
import { uncaughtIn } from './watched-worker.ts';

/** The secret of the data that earlier versions have stored, which `PUBLISHED` has. */
export const EARLIER_SECRET = 'secret-of-the-end-to-end-tests';

/** The secret of the file's deployments that set no other one. */
export let SECRET = EARLIER_SECRET;

let files = 0;
/** Whether all deployments of the file are made. */
let isBegun = true;
/** Deployments of blocks, whose Worker another block of the file has had. */
let blocks = 0;

export interface FileWorkerOptions {
  /** The path of a folder with stored data. The Worker reads and changes it. */
  readonly state?: string | undefined;
  /** Whether nothing else may be stored, since the file reads or collects all that is. */
  readonly alone?: boolean | undefined;
}

interface Started {
  readonly worker: WorkerServer;
  /** Length of the part of its output in which no error went uncaught. */
  checked: number;
}

const shared: Promise<Started>[] = [];
/** The places of those that a deployment has now. */
const taken = new Set<number>();
/** Likewise, that one of this file has or has had. */
const used = new Set<number>();

/** Made while a file is collected. */
export class FileWorker {
  private readonly options: FileWorkerOptions;
  private readonly isShared: boolean;
  private place = 0;
  private started: Started | undefined;
  /** Length of the Worker's output when the file began. */
  private printed = 0;

  constructor(options: FileWorkerOptions) {
    this.options = options;
    this.isShared = options.state === undefined && options.alone !== true;
    if (isBegun) {
      SECRET = `${EARLIER_SECRET} ${++files}`;
      used.clear();
    }
    isBegun = false;
    if (options.state !== undefined) SECRET = EARLIER_SECRET;
  }

  /** Resolves when it answers in this environment. */
  async start({ vars, limits }: Environment): Promise<void> {
    // The next file begins anew.
    isBegun = true;
    // What another block's deployment has stored in the Worker is not for this one.
    const secret = this.isShared && this.take() ? `${SECRET} ${++blocks}` : SECRET;
    const environment: Environment = { vars: { PRECIS_SECRET: secret, ...vars }, limits };
    if (this.isShared) shared[this.place] ??= this.launch({});
    // Alarms of stored objects come before the environment.
    this.started = await ((this.isShared && shared[this.place]) || this.launch(environment.vars));
    this.printed = this.started.worker.output().length;
    const body = JSON.stringify(environment);
    const response = await fetch(`${this.url}${ENVIRONMENT_PATH}`, { method: 'PUT', body });
    if (!response.ok) throw new Error(`The Worker took no environment: ${await response.text()}`);
  }

  get url(): string {
    return this.running().worker.url;
  }

  /** What it has printed for this file. What it does later for the file before is there, too. */
  output(): string {
    return this.running().worker.output().slice(this.printed);
  }

  /** Takes a place that no deployment has now. @returns whether one of this file has had it */
  private take(): boolean {
    for (this.place = 0; taken.has(this.place); ) this.place++;
    taken.add(this.place);
    const isUsed = used.has(this.place);
    used.add(this.place);
    return isUsed;
  }

  /** Ends it, unless files share it. Fails if it left an error uncaught, maybe an earlier one. */
  async stop(): Promise<void> {
    taken.delete(this.isShared ? this.place : Number.NaN);
    const { started } = this;
    if (!started) return;
    if (!this.isShared) await started.worker.close();
    const output = started.worker.output();
    const uncaught = uncaughtIn(output.slice(started.checked));
    started.checked = output.length;
    expect(uncaught, 'the uncaught errors of the Worker').toEqual([]);
  }

  private async launch(vars: Environment['vars']): Promise<Started> {
    const { state } = this.options;
    const worker = await startBuiltWorker(state === undefined ? { vars } : { vars, state });
    return { worker, checked: 0 };
  }

  private running(): Started {
    if (!this.started) throw new Error('the deployment runs only within tests');
    return this.started;
  }
}
