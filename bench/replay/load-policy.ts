/** Policies of others: modules that export a function of the array (docs/benchmark.md). */
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ChatJson } from './conversation.ts';
import { type Policy, type Rewrite, rewriting } from './policy.ts';

/**
 * The policy in a module: its default export is a `Rewrite`, or an object with `name` and
 * `rewrite`.
 *
 * @throws Error that says what is wrong with the module, or later with what the policy returns
 */
export async function loadPolicy(path: string): Promise<Policy> {
  const file = resolve(path);
  if (!existsSync(file)) throw new Error(`--policy ${path}: there is no such file.`);
  const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
  const { name, rewrite } = exportedBy(module.default, path);
  return rewriting(name, 'peer', async (messages, weighed) => {
    const sent: unknown = await rewrite(messages, weighed);
    if (!Array.isArray(sent) || sent.length === 0)
      throw new Error(`the policy '${name}' must return an array of at least one message`);
    for (const [index, message] of sent.entries())
      if (typeof message?.role !== 'string')
        throw new Error(`message ${index} of the policy '${name}' has no role`);
    return sent as readonly ChatJson[];
  });
}

function exportedBy(value: unknown, path: string): { name: string; rewrite: Rewrite } {
  if (typeof value === 'function') return { name: basename(path), rewrite: value as Rewrite };
  const { name = basename(path), rewrite } = (value ?? {}) as { name?: unknown; rewrite?: unknown };
  if (typeof rewrite !== 'function' || typeof name !== 'string')
    throw new Error(`${path} must have a function as its default export, or an object with name and rewrite`);
  return { name, rewrite: rewrite as Rewrite };
}
