/** `precis doctor`: looks at a deployment from outside, and says of each part what to do. */
import { addressOf, asksForToken, causeOf, printable, takesKeys, version } from './said.js';

/** By part of `GET /v1/admin/health`: what to do where it fails. */
const MENDS = {
  bucket: 'Check that the bucket of wrangler.toml exists (`npx wrangler r2 bucket list`), and deploy again.',
  conversations: 'Check the log and cloudflarestatus.com; deploy again if its class is missing.',
  users: 'Check the log and cloudflarestatus.com; deploy again if its class is missing.',
  tenants: 'Check the log and cloudflarestatus.com; deploy again if its class is missing.',
  metrics: 'Check the log and cloudflarestatus.com; deploy again if its class is missing.',
  upstream: "Check UPSTREAM_BASE_URL, UPSTREAM_API_KEY, and the vendor's status page.",
  anthropic: "Check ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, and the vendor's status page.",
  summarizer: 'Check SUMMARIZER_BASE_URL, SUMMARIZER_MODEL and SUMMARIZER_API_KEY.',
  embeddings: 'Check EMBEDDINGS_BASE_URL, EMBEDDINGS_MODEL and EMBEDDINGS_API_KEY.',
};

/** An answer without an error that Precis would not give. */
const NOT_OURS = {
  reason: 'the answer does not come from Precis',
  mend: 'Check the URL, and servers in front of Precis.',
};

/** In milliseconds. */
const PATIENCE = 30_000;
const MOST_SKEW = 60_000;

/** `ok` null: it was not seen. @typedef {{ name: string, ok: boolean | null, reason?: string, mend?: string }} Line */

/**
 * Prints a line for each part.
 *
 * @returns the exit status: 0 if nothing fails, otherwise 1
 */
export async function doctor(url, { key, adminToken }) {
  const ask = asker(addressOf(url));
  const lines = [];
  const say = (...said) => {
    for (const line of said) console.log(textOf(line));
    lines.push(...said);
  };
  const reached = await reach(ask, key);
  say(...reached.lines);
  if (reached.answers) {
    say(...(await seenByCaller(ask, key)));
    const parts = await seenByOperator(ask, adminToken, reached.isDated);
    // Without the operator's token, only a request of the caller's shows whether the upstream answers.
    const isSeen = parts.some((line) => line.name === 'upstream');
    if (key && !isSeen && lines.every(({ ok }) => ok !== false)) say(await upstream(ask, key));
    say(...parts);
  }
  const failed = lines.filter(({ ok }) => ok === false).length;
  console.log(failed === 0 ? 'Nothing fails.' : `${failed} ${failed === 1 ? 'part fails' : 'parts fail'}.`);
  return failed === 0 ? 0 : 1;
}

function textOf({ name, ok, reason = '', mend }) {
  const mark = ok === null ? '?' : ok ? '✓' : '✗';
  return `${mark} ${name.padEnd(16)}${reason}`.trimEnd() + (mend ? `\n    → ${mend}` : '');
}

/** @returns a function that resolves with an answer, its JSON, or the code of what kept it away */
function asker(address) {
  return async (path, token) => {
    try {
      const response = await fetch(`${address}${path}`, {
        headers: token ? { authorization: `Bearer ${token}` } : {},
        redirect: 'manual',
        signal: AbortSignal.timeout(PATIENCE),
      });
      return {
        status: response.status,
        date: response.headers.get('date'),
        json: printable(await response.json().catch(() => undefined)) ?? {},
      };
    } catch (error) {
      return { status: 0, code: causeOf(error), json: {} };
    }
  };
}

/** Whether the deployment answers, with a configuration that is valid, at the right time. */
async function reach(ask, key) {
  const { status, code, date, json } = await ask('/healthz');
  if (status === 0)
    return {
      answers: false,
      lines: [
        {
          name: 'deployment',
          ok: false,
          reason: `can't be reached: ${code}`,
          mend: 'Check the URL, and deploy.',
        },
      ],
    };
  if (status === 503 && json.status === 'misconfigured') {
    const open = await ask('/v1/deployment');
    // With access keys it says more to who has one.
    const { json: told } = key && takesKeys(open.status, open.json) ? await ask('/v1/deployment', key) : open;
    const reason = told.error?.message ?? 'a variable is missing or invalid';
    return {
      answers: false,
      lines: [{ name: 'configuration', ok: false, reason, mend: 'Set the variable, and deploy.' }],
    };
  }
  if (status !== 200 || json.status !== 'ok') {
    const mend = 'Check the URL: Precis may be elsewhere.';
    return {
      answers: false,
      lines: [{ name: 'deployment', ok: false, reason: `answered ${status}, but this is not Precis`, mend }],
    };
  }
  return {
    answers: true,
    isDated: date !== null,
    lines: [{ name: 'configuration', ok: true }, ...clock(date)],
  };
}

/**
 * Caches, leases and receipts are dated by the deployment's clock.
 *
 * @param time in any form that `Date` reads; without one there is nothing to say
 */
function clock(time) {
  const at = Date.parse(time ?? '');
  if (Number.isNaN(at)) return [];
  const seconds = Math.round(Math.abs(Date.now() - at) / 1_000);
  if (seconds * 1_000 <= MOST_SKEW) return [{ name: 'clock', ok: true }];
  const reason = `${seconds} seconds from this machine's`;
  const mend = 'Set the clock of this machine, or of the one that runs Precis.';
  return [{ name: 'clock', ok: false, reason, mend }];
}

/** What a caller's key shows: whether the upstream takes it, the version, models that retire. */
async function seenByCaller(ask, key) {
  const name = "caller's key";
  if (!key)
    return [
      { name, ok: null, reason: 'not checked, nor version and retiring models: OPENAI_API_KEY is not set' },
    ];
  const open = await ask('/v1/deployment');
  if (!takesKeys(open.status, open.json)) {
    if (open.status === 200) return [{ name, ok: false, ...NOT_OURS }];
    const reason = `the key was not sent, since this does not answer like Precis (status ${open.status})`;
    return [{ name, ok: false, reason, mend: NOT_OURS.mend }];
  }
  const { status, json } = await ask('/v1/deployment', key);
  if (status !== 200) {
    const mends = {
      401: 'Use a key that the upstream, or ACCESS_KEYS, accepts.',
      key_not_checked: MENDS.upstream,
    };
    const mend = mends[json.error?.code] ?? mends[status] ?? 'Check the log.';
    return [{ name, ok: false, reason: json.error?.message ?? `status ${status}`, mend }];
  }
  if (json.object !== 'memory.deployment') return [{ name, ok: false, ...NOT_OURS }];
  const own = version();
  const same = json.version === own;
  return [
    { name, ok: true },
    {
      name: 'version',
      ok: same,
      reason: same ? own : `${json.version}, but this command has ${own}`,
      ...(same ? {} : { mend: 'Deploy the newer version, or use its command.' }),
    },
    ...retiring(json.retiring),
    ...(json.retired_variables ?? []).map(retired),
  ];
}

/** Whether the upstream answers a caller. One that lists no models answers all the same. */
async function upstream(ask, key) {
  const name = 'upstream';
  const { status, json } = await ask('/v1/models', key);
  if (status === 401 || status === 403)
    return { name, ok: false, reason: json.error?.message ?? `status ${status}`, mend: 'Use another key.' };
  if (status > 0 && status < 500) return { name, ok: true };
  const reason = json.error?.message ?? (status === 0 ? 'no answer' : `status ${status}`);
  return { name, ok: false, reason, mend: MENDS.upstream };
}

function retiring(models = []) {
  if (models.length === 0) return [{ name: 'models', ok: true }];
  return models.map(({ setting, model, on, replacement }) => ({
    name: 'models',
    ok: false,
    reason: `${model} (${setting}) ends on ${on}`,
    mend: replacement ? `Set ${setting} to ${replacement}.` : `Set ${setting} to another model.`,
  }));
}

function retired(variable) {
  return { name: 'variables', ok: true, reason: `${variable} is set, and no longer does anything` };
}

function isHealth({ object, parts }) {
  return object === 'memory.health' && Array.isArray(parts);
}

/** What the operator's route shows. */
async function seenByOperator(ask, token, isDated) {
  const name = 'parts';
  const unseen = (reason) => [
    { name, ok: null, reason: `bucket, objects and servers not checked: ${reason}` },
  ];
  if (!token) return unseen('PRECIS_ADMIN_TOKEN is not set');
  const known = await ask('/v1/admin/health');
  if (known.status === 404)
    return unseen('the deployment has no ADMIN_TOKEN (`npx wrangler secret put ADMIN_TOKEN`)');
  if (!asksForToken(known.status, known.json))
    return unseen(`the token was not sent, since this does not answer like Precis (status ${known.status})`);
  const { status, json } = await ask('/v1/admin/health', token);
  if (status === 200 && !isHealth(json)) return [{ name, ok: false, ...NOT_OURS }];
  if (status !== 200) {
    const mend =
      status === 401 ? "Set PRECIS_ADMIN_TOKEN to the deployment's ADMIN_TOKEN." : 'Check the log.';
    return [{ name, ok: false, reason: json.error?.message ?? `status ${status}`, mend }];
  }
  const rotation = {
    name: 'secret',
    ok: true,
    reason: 'PRECIS_SECRET_PREVIOUS is still set: a rotation is in progress',
  };
  return [
    // Cloudflare dates its answers; a machine of one's own does not.
    ...(isDated ? [] : clock(json.time)),
    json.rotating ? rotation : { name: 'secret', ok: true },
    ...json.parts.map((part) => ({
      name: part.name,
      ok: part.status === 'unknown' ? null : part.status !== 'failed',
      reason: part.reason ?? `${part.ms} ms`,
      ...(part.status === 'failed' ? { mend: MENDS[part.name] ?? 'Check the log.' } : {}),
    })),
  ];
}
