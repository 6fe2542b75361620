#!/usr/bin/env node
/**
 * `precis verify receipt.json request.json`: asks a deployment whether a receipt is right.
 *
 * `receipt.json` holds a receipt, or an answer or report with one; `request.json` the body of the
 * request, or its array alone if it had nothing else. Node 20 or later, no dependencies.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const USAGE = `usage: precis verify <receipt.json> <request.json> [--url <deployment>]

The deployment is --url or PRECIS_URL, such as https://precis.example.com; the key is OPENAI_API_KEY,
the one that the request was made with. Exit status: 0 valid, 1 not valid, 2 could not be verified.`;

/** Says what is wrong, and ends. Never says a value of the environment. */
function fail(message) {
  console.error(message);
  process.exit(2);
}

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
  if (typeof value !== 'object' || value === null) return fail('A request is a JSON object or an array.');
  const members = text.trim().slice(1);
  return `{"receipt":${given}${Object.keys(value).length > 0 ? ',' : ''}${members}`;
}

function arguments_() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { url: { type: 'string' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    return fail(`${error.message}\n\n${USAGE}`);
  }
}

async function verify(url, key, body) {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1/verify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    const answer = await response.json();
    if (!response.ok) return fail(`${response.status} ${answer.error?.message ?? ''}`);
    return answer;
  } catch (error) {
    return fail(`${url} can't be asked: ${error.cause?.code ?? error.name}`);
  }
}

const { values, positionals } = arguments_();
const [command, receiptFile, requestFile, ...more] = positionals;
if (values.help) console.log(USAGE);
else {
  if (command !== 'verify' || !receiptFile || !requestFile || more.length > 0) fail(USAGE);
  const url = values.url ?? process.env.PRECIS_URL;
  const key = process.env.OPENAI_API_KEY;
  if (!url) fail(`No deployment is named.\n\n${USAGE}`);
  if (!key) fail(`OPENAI_API_KEY is not set.\n\n${USAGE}`);
  const receipt = receiptIn(read(receiptFile).value);
  const { valid, checks } = await verify(url, key, bodyOf(read(requestFile), receipt));
  for (const { name, ok, reason = '' } of checks)
    console.log(`${ok === null ? '?' : ok ? '✓' : '✗'} ${name.padEnd(10)}${reason}`.trimEnd());
  console.log(valid ? 'valid' : 'not valid');
  process.exitCode = valid ? 0 : 1;
}
