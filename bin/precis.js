#!/usr/bin/env node
/** The command line. Node 20 or later; what starts a Precis needs more than Node. */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { backup, restore } from './backup.js';
import { doctor } from './doctor.js';
import { mcp } from './mcp.js';
import { run } from './run.js';
import { fail, version } from './said.js';
import { verify } from './verify.js';
import { why } from './why.js';

const USAGE = `usage: precis demo [--mode <mode>] [--inspect]
       precis start [--host <address>] [--port <number>] [--data <folder>] [--var <NAME>:<value>]
       precis replay <file> [--budget <tokens>]
       precis run [--url <deployment>] -- <command> [<argument>]…
       precis mcp add <client> [--url <deployment>]
       precis mcp remove <client>
       precis verify <receipt.json> <request.json> [--url <deployment>]
       precis why [<request-id>] [--conversation <id> [--user <id>]] [--url <deployment>]
       precis doctor [--url <deployment>]
       precis backup <file> [--caller <name or id> [--conversation <id> [--user <id>]]]
                     [--url <deployment>]
       precis restore <file> [--url <deployment>]
       precis --version

demo    Runs a recorded agent through Precis on this machine: tokens and bill, before and after.
start   Runs Precis on this machine, and prints the line for your client.
replay  What Precis would have saved of the requests in a log, and where it would have cost more.
run     Runs claude, codex, opencode or any other client through Precis, which it starts if needed.
        The exit status is the client's. \`precis run --help\` has more; so have demo, start and replay.

The commands below need a deployment: --url or PRECIS_URL, such as https://precis.example.com.
Their exit status is also 2 where they are used wrongly, or could not begin.

mcp     Adds the MCP server of a deployment to claude, codex or opencode, by their own command.
        Their configuration names the variable with the key: OPENAI_API_KEY, for claude PRECIS_KEY.
verify  Whether a receipt is right. OPENAI_API_KEY is the key that the request was made with.
        Exit status: 0 valid, 1 not valid, 2 could not be verified.
why     Why a request was shortened, or was not: its id is the answer's x-request-id or
        request-id. Without an id it is the newest one, of the conversation or of all.
        OPENAI_API_KEY is the key that the request was made with.
        Exit status: 0 found, 1 it has no event, or one that is no longer kept.
doctor  What is wrong with a deployment, and what to do. PRECIS_ADMIN_TOKEN is the deployment's
        ADMIN_TOKEN, OPENAI_API_KEY a caller's key; without them it sees less.
        Exit status: 0 nothing fails, 1 something does.
backup  Saves everything stored of one caller, of one of its conversations, or of all, in one
        sealed file. Resumes an unfinished file. Needs PRECIS_ADMIN_TOKEN.
        Exit status: 0 finished, 1 not.
restore Restores a backup into a deployment with the same PRECIS_SECRET. What is there stays, and
        what was deleted since does not come back. Needs PRECIS_ADMIN_TOKEN.
        Exit status: 0 finished, 1 not.`;

/** Programs with arguments of their own: in the package, and their source, which only a clone has. */
const PROGRAMS = {
  demo: ['../dist/run/demo.js', '../demo/run.ts'],
  replay: ['../dist/run/replay.js', '../tools/replay.ts'],
  start: ['../dist/run/start.js', '../tools/start.ts'],
};

const program = process.argv[2] ?? '';
if (Object.hasOwn(PROGRAMS, program)) {
  const [packed, source] = PROGRAMS[program].map((path) => new URL(path, import.meta.url));
  const isClone = existsSync(source);
  // npx and npm take the Node that `npm ci` has installed.
  if (isClone && !process.features.typescript)
    fail(`This Node can't run a clone. Run \`npx precis ${program}\` in it, which takes the clone's own.`);
  process.argv.splice(2, 1);
  await import(isClone ? source : packed);
} else if (program === 'run') process.exitCode = await run(process.argv.slice(3));
else await ask();

/** The commands that ask a deployment. */
async function ask() {
  const { values, positionals } = arguments_();
  const [command, ...files] = positionals;
  if (values.help) return console.log(USAGE);
  if (values.version) return console.log(version());
  const counts = { mcp: 2, verify: 2, why: 1, doctor: 0, backup: 1, restore: 1 };
  const flags = { why: ['user', 'conversation'], backup: ['user', 'conversation', 'caller'] };
  if (command === undefined) fail(USAGE);
  if (!Object.hasOwn(counts, command)) fail(`There is no command ${command}.\n\n${USAGE}`);
  const given = files.filter((one) => one !== '').length;
  const mayLack = command === 'why' && files.length === 0;
  if ((files.length !== counts[command] && !mayLack) || given !== files.length)
    fail(
      `precis ${command} takes ${command === 'why' ? 'at most ' : ''}${countOf(counts[command])} beside its flags, not ${given}.\n\n${USAGE}`,
    );
  const own = flags[command] ?? [];
  for (const name of ['user', 'conversation', 'caller']) {
    if (values[name] === undefined) continue;
    if (!own.includes(name)) fail(`precis ${command} has no --${name}.\n\n${USAGE}`);
    const needed = own[own.indexOf(name) + 1];
    if (needed && values[needed] === undefined) fail(`--${name} needs --${needed}.\n\n${USAGE}`);
  }
  const isRemoval = command === 'mcp' && files[0] === 'remove';
  const { PRECIS_URL, OPENAI_API_KEY: key, PRECIS_ADMIN_TOKEN: adminToken } = process.env;
  for (const [name, value] of Object.entries({ OPENAI_API_KEY: key, PRECIS_ADMIN_TOKEN: adminToken }))
    if (/[^ -~]/.test(value?.trim() ?? ''))
      fail(`${name} has a line break, or a character that no key has: set it again.`);
  const url = values.url ?? PRECIS_URL;
  if (!url && !isRemoval) fail(`Name a deployment by --url or PRECIS_URL.\n\n${USAGE}`);
  const [file] = files;
  const commands = {
    mcp: () => mcp(...files, url),
    verify: () => verify(url, key, files),
    why: () => {
      const { conversation, user } = values;
      return why(url, key, file, { conversation, user });
    },
    doctor: () => doctor(url, { key, adminToken }),
    backup: () => {
      const { caller, conversation, user } = values;
      return backup(url, adminToken, file, { caller, conversation, user });
    },
    restore: () => restore(url, adminToken, file),
  };
  process.exitCode = await commands[command]();
}

function countOf(most) {
  return most === 1 ? 'one argument' : most === 0 ? 'no argument' : `${most} arguments`;
}

function arguments_() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        caller: { type: 'string' },
        conversation: { type: 'string' },
        user: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    });
  } catch (error) {
    return fail(`${error.message}\n\n${USAGE}`);
  }
}
