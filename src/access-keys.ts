/** `ACCESS_KEYS`: many callers share the deployer's account; what they may send to it. */
import { ConfigError } from './config-error.ts';
import { namedEntries } from './named-entries.ts';
import type { Opened } from './protocol/stored-names.ts';

export interface AccessKey {
  /** The tenant's name. It stays when the key changes, so nothing that is stored gets lost. */
  readonly name: string;
  readonly key: string;
}

/** Callers with access keys, and the account that they share. */
export interface Access {
  readonly keys: readonly AccessKey[];
  /** The deployer's key for the upstream; undefined: it is closed. */
  readonly apiKey: string | undefined;
  /** Likewise for the upstream of Anthropic's API. One of both is set. */
  readonly anthropicApiKey: string | undefined;
  /** Extra request headers to forward, in lower case. A trailing `*` matches any suffix. */
  readonly forwardedHeaders: readonly string[];
  /** Item kinds and tool types to forward beyond those that are always allowed. */
  readonly opened: Opened;
}

interface AccessVariables {
  readonly ACCESS_KEYS?: string | undefined;
  readonly UPSTREAM_API_KEY?: string | undefined;
  readonly ANTHROPIC_API_KEY?: string | undefined;
  readonly FORWARDED_HEADERS?: string | undefined;
  readonly FORWARDED_ITEMS?: string | undefined;
  readonly FORWARDED_TOOLS?: string | undefined;
  /** Whether one server has both APIs. Its key then opens both, unless there is one for each. */
  readonly anthropicIsUpstream?: boolean;
}

/** In characters. Anyone can guess at keys over the network, so short ones are refused. */
const SHORTEST_ACCESS_KEY = 20;

/** The type of an item or a tool. */
const TYPE = /^[a-z0-9][a-z0-9_.:-]*$/;

/**
 * Reads the access keys and the lists of what is forwarded. `ACCESS_KEYS` is either a list of
 * `name=key` (or `name:key`) pairs, separated by commas or white space, or a JSON object of keys by
 * name. The other variables are lists with the same separators.
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
  const apiKey = vars.UPSTREAM_API_KEY || undefined;
  const anthropicApiKey = vars.ANTHROPIC_API_KEY || undefined;
  if (apiKey === undefined && anthropicApiKey === undefined)
    throw new ConfigError(
      'ACCESS_KEYS is set, so UPSTREAM_API_KEY, ANTHROPIC_API_KEY or both must be set too.',
    );
  const keys = text.startsWith('{') ? keysOfJson(text) : wordsOf(text).map(keyOfPair);
  checkKeys(keys, { UPSTREAM_API_KEY: apiKey, ANTHROPIC_API_KEY: anthropicApiKey });
  const forMessages = anthropicApiKey ?? (vars.anthropicIsUpstream ? apiKey : undefined);
  return { keys, apiKey, anthropicApiKey: forMessages, forwardedHeaders, opened };
}

/**
 * The access keys, for when the rest of the configuration is invalid. Undefined where callers bring
 * their own keys; empty where the access keys are invalid too.
 */
export function accessKeysIn(vars: AccessVariables): readonly AccessKey[] | undefined {
  if ((vars.ACCESS_KEYS?.trim() ?? '') === '') return undefined;
  try {
    return readAccess(vars)?.keys;
  } catch {
    return [];
  }
}

function keysOfJson(text: string): AccessKey[] {
  const broken = new ConfigError('ACCESS_KEYS is not a JSON object of keys by name.');
  const entries = namedEntries(text);
  if (!entries) throw broken;
  return entries.map(([name, key]) => {
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

/** @throws ConfigError for a key that is too short or not unique */
function checkKeys(keys: readonly AccessKey[], apiKeys: Readonly<Record<string, string | undefined>>): void {
  for (const [index, { name, key }] of keys.entries()) {
    const broken = (fault: string) => new ConfigError(`ACCESS_KEYS: ${fault} of entry ${index + 1}.`);
    const others = keys.slice(0, index);
    if (key.length < SHORTEST_ACCESS_KEY)
      throw new ConfigError(
        `ACCESS_KEYS: the key of entry ${index + 1} has fewer than ${SHORTEST_ACCESS_KEY} characters.`,
      );
    if (/\s/.test(key)) throw broken('there is white space in the key');
    for (const [variable, apiKey] of Object.entries(apiKeys))
      if (key === apiKey) throw broken(`${variable} is also the key`);
    if (others.some((other) => other.key === key)) throw broken('an earlier entry has the key');
    if (others.some((other) => other.name === name)) throw broken('an earlier entry has the name');
  }
}

/** The entries of a list, in lower case. @throws ConfigError for an invalid entry */
function listOf(
  vars: AccessVariables,
  variable: 'FORWARDED_HEADERS' | 'FORWARDED_ITEMS' | 'FORWARDED_TOOLS',
  entry: RegExp,
): string[] {
  const entries = wordsOf(vars[variable] ?? '').map((word) => word.toLowerCase());
  const broken = entries.findIndex((word) => !entry.test(word));
  if (broken < 0) return entries;
  throw new ConfigError(`${variable}: entry ${broken + 1} is not a name that is allowed there.`);
}

/** The entries of a list, separated by commas or white space. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
