/**
 * `precis backup` and `precis restore`: all that a deployment has stored of one caller, of one of
 * its conversations, or of all, as a file, and back. The file's records are sealed by the deployment.
 */
import { existsSync, fsyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, chainAfter, NO_CHAIN, recordsOf } from './records.js';
import { addressOf, asksForToken, causeOf, fail, printable } from './said.js';

/** In milliseconds: of one request, and before each further try. */
const PATIENCE = 120_000;
const PAUSES = [1_000, 5_000];

/** As many as `POST /v1/admin/restore` takes. */
const MOST_RECORDS = 5;
const MOST_BYTES = 4 * 1024 * 1024;

/** What the counts of a restore mean. */
const KINDS = {
  // The register is one of them.
  tenant: 'records of callers',
  conversation: 'conversations',
  user: 'users',
  ref: 'refs',
  content: 'contents of conversations',
};
const STATES = {
  restored: 'restored',
  kept: 'kept, since something is there',
  deleted: 'left out, since it was deleted',
  expired: 'left out, since it would have expired',
};

/** @param scope caller, conversation and user, each a string or undefined @returns the exit status */
export async function backup(url, token, name, scope) {
  const ask = await operator(url, token);
  const isNew = !existsSync(name);
  const file = open(name, isNew ? 'wx+' : 'r+');
  const { records } = recordsOf(file);
  if (records.at(-1)?.kind === 'E') fail(`${name} is a finished backup. Choose another file.`);
  const begun = records.findLast(({ kind }) => kind === 'N');
  if (!isNew && !begun) fail(`${name} is not an unfinished backup. Choose another file.`);
  let end = begun ? begun.at + begun.bytes : 0;
  // A half-written answer is asked for again.
  ftruncateSync(file, end);
  let body = begun ? nextOf(file, begun) : scope;
  for (;;) {
    const answer = await ask('backup', JSON.stringify(body), 'application/json');
    if (!answer.ok) {
      if (end === 0) unlinkSync(name);
      console.error(end === 0 ? answer.why : `Not finished: ${answer.why}. Run it again to continue.`);
      return 1;
    }
    writeSync(file, answer.bytes, 0, answer.bytes.length, end);
    fsyncSync(file);
    const { records: made, rest } = recordsOf(file, end);
    const last = made.at(-1);
    if (rest > 0 || (last?.kind !== 'N' && last?.kind !== 'E')) {
      ftruncateSync(file, end);
      fail('The deployment answered without records of a backup.');
    }
    end += answer.bytes.length;
    if (last.kind === 'E') {
      if (scope.caller && !recordsOf(file).records.some(({ kind }) => kind === 'R')) {
        unlinkSync(name);
        const what = scope.conversation ? `a conversation ${scope.conversation} of the caller` : 'a caller';
        console.error(`Nothing is stored of ${what} ${scope.caller}. ${name} was not written.`);
        return 1;
      }
      console.log(
        `${name}: ${end.toLocaleString('en-US')} bytes. Only PRECIS_SECRET opens it: keep a copy of both.`,
      );
      return 0;
    }
    body = nextOf(file, last);
  }
}

function nextOf(file, record) {
  return { next: bytesOf(file, record).toString('base64') };
}

/** @returns the exit status */
export async function restore(url, token, name) {
  const file = open(name, 'r');
  const { records, chains } = wholeRecords(file, name);
  const ask = await operator(url, token);
  const put = (from, to) =>
    ask(
      `restore?after=${chains[from]}`,
      Buffer.concat(records.slice(from, to).map((record) => bytesOf(file, record))),
      'application/octet-stream',
    );
  // The last record only opens after exactly those before it.
  const known = await put(records.length - 1, records.length);
  if (!known.ok) {
    console.error(`Nothing was restored. ${name}: ${known.why}`);
    return 1;
  }
  const counts = new Map();
  for (let from = 0; from < records.length; ) {
    const to = batchFrom(records, from);
    const answer = await put(from, to);
    if (!answer.ok) {
      say(counts);
      console.error(`Stopped at record ${from + 1} of ${records.length}: ${answer.why}`);
      console.error('What was restored stays. Run it again to continue.');
      return 1;
    }
    for (const { kind, state, count } of jsonOf(answer.bytes).restored) {
      const key = `${kind} ${state}`;
      counts.set(key, { kind, state, count: (counts.get(key)?.count ?? 0) + count });
    }
    from = to;
  }
  say(counts);
  return 0;
}

/** The records of a finished backup, and the hash before each. */
function wholeRecords(file, name) {
  const { records: all, rest } = recordsOf(file);
  const records = all.filter(({ kind }) => kind !== 'N');
  if (records[0]?.kind !== 'H') fail(`${name} is not a backup of Precis. Nothing was restored.`);
  if (rest > 0)
    fail(`${name} is truncated or damaged after ${records.length} records. Nothing was restored.`);
  if (records.at(-1).kind !== 'E')
    fail(`${name} is not finished: run precis backup with it again. Nothing was restored.`);
  const chains = [NO_CHAIN];
  for (const record of records) chains.push(chainAfter(chains.at(-1), bytesOf(file, record)));
  return { records, chains };
}

/** Where the batch ends that begins with a record. */
function batchFrom(records, from) {
  let bytes = 0;
  let to = from;
  do bytes += records[to++].bytes;
  while (to < records.length && to - from < MOST_RECORDS && bytes + records[to].bytes <= MOST_BYTES);
  return to;
}

function say(counts) {
  if (counts.size === 0) console.log('The backup is empty.');
  for (const { kind, state, count } of counts.values())
    console.log(`${(KINDS[kind] ?? kind).padEnd(26)}${String(count).padStart(8)} ${STATES[state] ?? state}`);
}

function open(name, flags) {
  try {
    return openSync(name, flags, 0o600);
  } catch (error) {
    return fail(`${name}: ${error.code}`);
  }
}

/** A function that asks an operator's route: its bytes, or why there are none. */
async function operator(url, token) {
  if (!token) fail('PRECIS_ADMIN_TOKEN is not set.');
  const address = addressOf(url);
  const once = async (path, body, type, headers = {}) => {
    try {
      const response = await fetch(`${address}/v1/admin/${path}`, {
        method: 'POST',
        headers: { 'content-type': type, ...headers },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(PATIENCE),
      });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { ok: response.status === 200, status: response.status, bytes };
    } catch (error) {
      return { ok: false, status: 0, why: `${address} can't be asked: ${causeOf(error)}` };
    }
  };
  const known = await once('backup', '{}', 'application/json');
  if (known.status === 0) fail(known.why);
  if (known.status === 404)
    fail('The deployment has no such route: set ADMIN_TOKEN (`npx wrangler secret put ADMIN_TOKEN`).');
  if (!asksForToken(known.status, jsonOf(known.bytes)))
    fail(`The token was not sent, since this does not answer like Precis (status ${known.status}).`);
  return async (path, body, type) => {
    let answer;
    for (const rest of [0, ...PAUSES]) {
      await pause(rest);
      answer = await once(path, body, type, { authorization: `Bearer ${token}` });
      if (answer.status !== 0 && answer.status < 500) break;
    }
    return {
      ...answer,
      why: answer.why ?? jsonOf(answer.bytes)?.error?.message ?? `status ${answer.status}`,
    };
  };
}

function jsonOf(bytes) {
  try {
    return printable(JSON.parse(bytes.toString()));
  } catch {
    return undefined;
  }
}
