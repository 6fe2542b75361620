/**
 * Runs a command-line client in a directory with a book, with its own home and without a network.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { chapter } from '../support/clients/reading-model.ts';
import { KEY } from '../support/deployment/deployment.ts';
import { closedNetwork } from './closed-network.ts';
import { type ClientName, executable } from './installed.ts';

export interface CommandLine {
  readonly client: ClientName;
  readonly args: readonly string[];
  /** The deployment of `precis run`, if that is to start the client. */
  readonly through?: string;
  /** Files of the home directory, by path. */
  readonly home: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The book to read, and its number of chapters. */
  readonly book: string;
  readonly chapters: number;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Other hosts that it tried to reach. */
  readonly asked: readonly string[];
}

/** The environment variable with the caller's key. */
export const KEY_VARIABLE = 'PRECIS_TEST_KEY';

/** A chapter's file. */
export const fileOf = (number: number): string => `chapter-${number}.txt`;

/** The command line of Precis. */
export const PRECIS = join(import.meta.dirname, '../../bin/precis.js');

const GIVE_UP_MS = 120_000;

/**
 * With this opencode asks neither a person nor another host. It installs the types of its plugins
 * beside its configuration, unless a lock file has them.
 */
export const OPENCODE_ALONE = {
  config: {
    autoupdate: false,
    share: 'disabled',
    enabled_providers: ['openai'],
    model: 'openai/gpt-5.4',
    small_model: 'openai/gpt-5.4',
    permission: 'allow',
  },
  home: {
    '.config/opencode/package-lock.json': JSON.stringify({
      packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
    }),
    '.config/opencode/node_modules/.package-lock.json': '{}',
  },
  env: {
    OPENCODE_PURE: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_SHARE: '1',
  },
} as const;

/** Runs a client to its end. */
export async function runClient(command: CommandLine): Promise<Ended> {
  const root = await mkdtemp(join(tmpdir(), 'precis-client-'));
  const home = join(root, 'home');
  const work = join(root, 'work');
  const network = await closedNetwork();
  try {
    const chapters = Array.from({ length: command.chapters }, (_, at) => at + 1);
    await Promise.all([
      ...chapters.map((number) => put(join(work, fileOf(number)), chapter(command.book, number))),
      ...Object.entries(command.home).map(([path, content]) => put(join(home, path), content)),
    ]);
    const started = [executable(command.client), ...command.args];
    const precis = [process.execPath, PRECIS, 'run', '--url', command.through ?? '', '--'];
    const [program = '', ...args] = command.through === undefined ? started : [...precis, ...started];
    const child = spawn(program, args, {
      cwd: work,
      env: {
        PATH: process.env.PATH,
        TERM: 'dumb',
        HOME: home,
        CODEX_HOME: join(home, '.codex'),
        XDG_CONFIG_HOME: join(home, '.config'),
        XDG_DATA_HOME: join(home, '.local/share'),
        XDG_STATE_HOME: join(home, '.local/state'),
        XDG_CACHE_HOME: join(home, '.cache'),
        [KEY_VARIABLE]: KEY,
        ...network.env,
        ...command.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: GIVE_UP_MS,
      killSignal: 'SIGKILL',
    });
    const [code, stdout, stderr] = await Promise.all([
      new Promise<number | null>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', resolve);
      }),
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code, stdout, stderr, asked: network.asked };
  } finally {
    await network.close();
    await rm(root, { recursive: true, force: true });
  }
}

/** The last message of Codex, from its printed events. */
export function lastMessage({ stdout }: Ended): string {
  const events = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  return events.findLast(({ item }) => item?.type === 'agent_message')?.item.text;
}

async function put(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}
