/**
 * `precis mcp add|remove <client>`: adds the MCP server at `/mcp` to a client, by the client's own
 * command. Its configuration names the variable with the key, and never holds the key.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { addressOf, fail, NO_WINDOWS } from './said.js';

/** The server's name in a client's configuration. */
const NAME = 'precis';

/** The commands of each client, and the variable that has its key. */
const CLIENTS = {
  claude: {
    // It gives servers none of the variables with its own keys.
    variable: 'PRECIS_KEY',
    add: (url, variable) => {
      const server = { type: 'http', url, headers: { Authorization: `Bearer \${${variable}}` } };
      return ['mcp', 'add-json', '--scope', 'user', NAME, JSON.stringify(server)];
    },
    remove: () => runClient('claude', ['mcp', 'remove', '--scope', 'user', NAME]),
  },
  codex: {
    variable: 'OPENAI_API_KEY',
    add: (url, variable) => ['mcp', 'add', NAME, '--url', url, '--bearer-token-env-var', variable],
    remove: () => runClient('codex', ['mcp', 'remove', NAME]),
  },
  opencode: {
    variable: 'OPENAI_API_KEY',
    add: (url, variable) => [
      'mcp',
      'add',
      NAME,
      '--url',
      url,
      '--header',
      `Authorization=Bearer {env:${variable}}`,
    ],
    remove: removeFromOpenCode,
  },
};

/**
 * @param action `add` or `remove`
 * @param client one of `CLIENTS`
 * @param url of the deployment
 * @returns the exit status: 0 done, otherwise the client's own
 */
export function mcp(action, client, url) {
  if (!Object.hasOwn(CLIENTS, client)) fail(`${client} is not one of ${Object.keys(CLIENTS).join(', ')}.`);
  const { variable, add, remove } = CLIENTS[client];
  if (action === 'remove') return remove();
  if (action !== 'add') fail(`mcp takes add or remove, not ${action}.`);
  const status = runClient(client, add(`${addressOf(url)}/mcp`, variable));
  if (status === 0)
    console.log(`${client} sends the key in ${variable}: it must be the key of its requests to models.
\`precis mcp remove ${client}\` undoes this.`);
  return status;
}

function runClient(client, args) {
  if (process.platform === 'win32') fail(NO_WINDOWS);
  const { status, error } = spawnSync(client, args, { stdio: 'inherit' });
  if (error)
    fail(
      error.code === 'ENOENT' ? `${client} is not installed, or not in PATH.` : `${client}: ${error.code}`,
    );
  return status ?? 1;
}

/** It has no command for this. A file with comments is left to its owner. */
function removeFromOpenCode() {
  const folder = join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'opencode');
  for (const name of ['opencode.json', 'opencode.jsonc']) {
    const file = join(folder, name);
    const text = readIfThere(file);
    if (text === undefined) continue;
    const config =
      parsed(text) ?? fail(`Remove \`mcp.${NAME}\` from ${file} by hand, since it has comments.`);
    if (config.mcp?.[NAME] === undefined) continue;
    delete config.mcp[NAME];
    writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`);
    console.log(`Removed from ${file}.`);
    return 0;
  }
  console.log(`No file in ${folder} contains it.`);
  return 1;
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return error.code === 'ENOENT' ? undefined : fail(`${file} can't be read: ${error.code}`);
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
