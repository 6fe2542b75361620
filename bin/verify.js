/**
 * `precis verify receipt.json request.json`: asks a deployment whether a receipt is right.
 *
 * `receipt.json` holds a receipt, or an answer or report with one; `request.json` the body of the
 * request, or its array alone if it had nothing else.
 */
import { readFileSync } from 'node:fs';
import { addressOf, causeOf, fail, printable, takesKeys } from './said.js';

/** The text of a file, and its value. */
function read(file) {
  try {
    const text = readFileSync(file, 'utf8').replace(/^\ufeff/, '');
    return { text, value: JSON.parse(text) };
  } catch (error) {
    return fail(`${file}: ${error instanceof SyntaxError ? 'not JSON' : error.code}`);
  }
}

/** The receipt in an answer, in a report, or alone. */
function receiptIn(value) {
  return value?.memory?.receipt ?? value?.receipt ?? value;
}

/**
 * The body of the request with its receipt. Its text stays, since tokens are counted from it.
 *
 * @param text a body, or its array alone
 */
function bodyOf({ text, value }, receipt) {
  const given = JSON.stringify(receipt);
  if (Array.isArray(value))
    return `{"receipt":${given},"${receipt?.protocol === 'responses' ? 'input' : 'messages'}":${text}}`;
  if (typeof value !== 'object' || value === null)
    return fail('The request must be a JSON object or an array.');
  const members = text.trim().slice(1);
  return `{"receipt":${given}${Object.keys(value).length > 0 ? ',' : ''}${members}`;
}

/** An answer's status and its JSON, if it has any. No redirect gets the key, nor the request. */
async function answerOf(url, path, init = {}) {
  try {
    const response = await fetch(`${addressOf(url)}${path}`, { ...init, redirect: 'manual' });
    return { status: response.status, json: printable(await response.json().catch(() => undefined)) };
  } catch (error) {
    return fail(`${url} can't be asked: ${causeOf(error)}`);
  }
}

async function ask(url, key, body) {
  const open = await answerOf(url, '/v1/deployment');
  if (!takesKeys(open.status, open.json))
    return fail(
      `${url}: the key was not sent, since this does not answer like Precis (status ${open.status})`,
    );
  const { status, json } = await answerOf(url, '/v1/verify', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  if (json?.object === 'memory.verification') return json;
  return fail(`${status} ${json?.error?.message ?? 'the answer does not come from Precis'}`);
}

/**
 * @param files the receipt's and the request's
 * @returns the exit status: 0 valid, 1 not valid
 */
export async function verify(url, key, [receiptFile, requestFile]) {
  if (!key) fail('OPENAI_API_KEY is not set.');
  const receipt = receiptIn(read(receiptFile).value);
  const { valid, checks } = await ask(url, key, bodyOf(read(requestFile), receipt));
  for (const { name, ok, reason = '' } of checks)
    console.log(`${ok === null ? '?' : ok ? '✓' : '✗'} ${name.padEnd(10)}${reason}`.trimEnd());
  console.log(valid ? 'valid' : 'not valid');
  return valid ? 0 : 1;
}
