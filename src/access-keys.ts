/**
 * `ACCESS_KEYS`: one account of the deployer's behind many callers, and what these may send to it.
 */
import { ConfigError } from './config-error.ts';
import { jsonOf, levels, scanObject } from './protocol/json/spans.ts';
import type { Opened } from './protocol/stored-names.ts';

/** A caller's access key. */
export interface AccessKey {
  /** The tenant, so a key can be changed without losing what was stored. */
  readonly name: string;
  readonly key: string;
}

/** Callers with access keys, and the account that they share. */
export interface Access {
  readonly keys: readonly AccessKey[];
  /** The deployer's key. */
  readonly apiKey: string;
  /**
   * Headers that go up beside the usual ones, in lower case; one that ends with `*` is a prefix.
   */
  readonly forwardedHeaders: readonly string[];
  /** Kinds of items and types of tools that go up beside the usual ones. */
  readonly opened: Opened;
}

/** The variables that say so. */
export interface AccessVariables {
  readonly ACCESS_KEYS?: string | undefined;
  readonly UPSTREAM_API_KEY?: string | undefined;
  readonly FORWARDED_HEADERS?: string | undefined;
  readonly FORWARDED_ITEMS?: string | undefined;
  readonly FORWARDED_TOOLS?: string | undefined;
}

/** Anybody may try keys: a shorter one could be guessed. In characters. */
const SHORTEST_ACCESS_KEY = 20;

/** Of an item or a tool. */
const TYPE = /^[a-z0-9][a-z0-9_.:-]*$/;

/**
 * `ACCESS_KEYS` holds `name=key` pairs, separated by commas or white space (`name:key` is read
 * too), or a JSON object of keys by name. The other variables are lists, separated in the same way.
 *
 * @returns undefined where callers bring their own keys
 * @throws ConfigError
 */
export function readAccess(vars: AccessVariables): Access | undefined {
  const text = vars.ACCESS_KEYS?.trim() ?? '';
  const forwardedHeaders = listOf(vars, 'FORWARDED_HEADERS', /^[a-z0-9][a-z0-9_.-]*\*?$/);
  const opened = {
    items: new Set(listOf(vars, 'FORWARDED_ITEMS', TYPE)),
    tools: new Set(listOf(vars, 'FORWARDED_TOOLS', TYPE)),
  };
  if (text === '') return undefined;
  const apiKey = vars.UPSTREAM_API_KEY;
  if (!apiKey) throw new ConfigError('ACCESS_KEYS is set, so UPSTREAM_API_KEY must be set too.');
  const keys = text.startsWith('{') ? keysOfJson(text) : wordsOf(text).map(keyOfPair);
  checkKeys(keys, apiKey);
  return { keys, apiKey, forwardedHeaders, opened };
}

/**
 * The access keys of a deployment whose configuration can't be read; undefined where callers bring
 * their own, empty where the keys can't be read either.
 */
export function accessKeysIn(vars: AccessVariables): readonly AccessKey[] | undefined {
  if ((vars.ACCESS_KEYS?.trim() ?? '') === '') return undefined;
  try {
    return readAccess(vars)?.keys;
  } catch {
    return [];
  }
}

/** Doubled members count as often as they stand: `JSON.parse` would hide all but the last. */
function keysOfJson(text: string): AccessKey[] {
  const bytes = new TextEncoder().encode(text);
  const fields = scanObject(bytes, levels(1))?.fields;
  const broken = new ConfigError('ACCESS_KEYS is not a JSON object of keys by name.');
  if (!fields) throw broken;
  return fields.map(({ key: name, value }) => {
    const key = value.kind === 'string' ? jsonOf(bytes, value) : '';
    if (name === '' || typeof key !== 'string' || key === '') throw broken;
    return { name, key };
  });
}

function keyOfPair(pair: string, index: number): AccessKey {
  const [, name, key] = /^([^=:]+)[=:](.+)$/.exec(pair) ?? [];
  if (name === undefined || key === undefined)
    throw new ConfigError(`ACCESS_KEYS: entry ${index + 1} is not of the form name=key.`);
  return { name, key };
}

/** @throws ConfigError for a key that is weak, or does not name one caller */
function checkKeys(keys: readonly AccessKey[], apiKey: string): void {
  for (const [index, { name, key }] of keys.entries()) {
    const broken = (fault: string) => new ConfigError(`ACCESS_KEYS: ${fault} of entry ${index + 1}.`);
    const others = keys.slice(0, index);
    if (key.length < SHORTEST_ACCESS_KEY)
      throw new ConfigError(
        `ACCESS_KEYS: the key of entry ${index + 1} has fewer than ${SHORTEST_ACCESS_KEY} characters.`,
      );
    if (/\s/.test(key)) throw broken('there is white space in the key');
    if (key === apiKey) throw broken('UPSTREAM_API_KEY is also the key');
    if (others.some((other) => other.key === key)) throw broken('an earlier entry has the key');
    if (others.some((other) => other.name === name)) throw broken('an earlier entry has the name');
  }
}

/** The entries of a list, in lower case. @throws ConfigError for one that is no name */
function listOf(vars: AccessVariables, variable: keyof AccessVariables, entry: RegExp): string[] {
  const entries = wordsOf(vars[variable] ?? '').map((word) => word.toLowerCase());
  const broken = entries.findIndex((word) => !entry.test(word));
  if (broken < 0) return entries;
  throw new ConfigError(`${variable}: entry ${broken + 1} is not a name that may stand there.`);
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
