/**
 * Compaction on demand as Anthropic's API has it: what it makes, and what it refuses
 * (https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, read 2026-11).
 *
 * A signature holds what the block was made of, so nothing is stored.
 */
import { createHash } from 'node:crypto';
import { type Json, listed, type Report } from './json.ts';
import type { MessageAnswer } from './message.ts';

type Headers = Readonly<Record<string, unknown>>;

/** With the request for a block, and with each request that has one. */
export const COMPACTION_BETA = 'compact-2026-09-04';

const MODELS = /^claude-(?:fable-5|mythos|opus-(?:4-[678]|5)|sonnet-(?:4-6|5))/;

/** What a signature holds, as JSON. */
interface Signed {
  readonly content: string;
  readonly account: string;
  /** Hashes of the messages that the block replaces. */
  readonly covered: readonly string[];
}

/** The answer to a request for a summary of its messages. */
export function compactionOf(body: Json, headers: Headers, said?: string): MessageAnswer {
  const messages = listed(body.messages);
  const [before] = blocksIn(messages);
  const known = before && signedIn(before.block);
  const covered = [...(known?.covered ?? []), ...messages.filter((one) => !isBlock(one)).map(hashOf)];
  const content =
    said ?? `What was said in ${covered.length} messages.${before ? ' Some were summarized.' : ''}`;
  const signed: Signed = { content: hashOf(content), account: accountOf(headers), covered };
  const signature = Buffer.from(JSON.stringify(signed)).toString('base64url');
  return {
    blocks: [{ type: 'compaction', content, signature }],
    stopReason: 'compaction',
    usage: {
      input_tokens: 0,
      output_tokens: 0,
      iterations: [{ type: 'compaction', input_tokens: 1_000, output_tokens: 200 }],
    },
  };
}

/** Whether a block is one that the API signs on demand. One of a threshold has no signature. */
export function isSigned({ type, signature }: Json): boolean {
  return type === 'compaction' && signature !== undefined;
}

/** What the API would refuse about compactions. */
export function checkCompaction(body: Json, headers: Headers | undefined, report: Report): void {
  const betas = String(headers?.['anthropic-beta'] ?? '').split(',');
  const hasBeta = !headers || betas.some((name) => name.trim() === COMPACTION_BETA);
  if (body.compaction !== undefined) checkAsked(body, hasBeta, report);
  const messages = listed(body.messages);
  const blocks = blocksIn(messages);
  for (const { block, at, index } of blocks)
    checkBlock(block, `messages.${at}.content.${index}`, headers, report);
  if (blocks.length === 0) return;
  if (!hasBeta) report(`messages.0.content.0: Input tag 'compaction' found is none of the expected tags`);
  if (blocks.length > 1) report('messages: at most one compaction block is allowed');
  if (blocks.some(({ at, index }) => at > 0 || index > 0))
    report('messages: compaction_block_misplaced: a compaction block must be the first block of messages');
  if (remaining(body) !== undefined)
    report('output_config.task_budget.remaining: not with a compaction block');
  if (
    listed((body.context_management as Json | undefined)?.edits).some(
      ({ type }) => type === 'compact_20260112',
    )
  )
    report('context_management: compact_20260112 cannot run with a signed compaction block');
  // The API says nothing, and shows the model both.
  const covered = new Set(blocks.flatMap(({ block }) => signedIn(block)?.covered ?? []));
  for (const [at, message] of messages.entries())
    if (!isBlock(message) && covered.has(hashOf(message)))
      report(`messages.${at}: is beside the compaction block that replaces it`);
}

function checkAsked(body: Json, hasBeta: boolean, report: Report): void {
  const { compaction, model, context_management, stop_sequences, tool_choice, output_config } = body;
  const { type, instructions, ...others } = (compaction ?? {}) as Json;
  if (!hasBeta) report(`compaction: requires anthropic-beta: ${COMPACTION_BETA}`);
  if (type !== 'summarize') report("compaction.type: Input should be 'summarize'");
  if (instructions !== undefined && (typeof instructions !== 'string' || instructions.length > 16_384))
    report('compaction.instructions: String should have at most 16384 characters');
  for (const key of Object.keys(others)) report(`compaction.${key}: Extra inputs are not permitted`);
  if (!MODELS.test(String(model))) report(`compaction: model ${model} does not support compaction`);
  if (context_management !== undefined && context_management !== null)
    report('compaction: cannot be combined with context_management');
  if (stop_sequences !== undefined) report('stop_sequences: cannot be combined with compaction');
  if (['any', 'tool'].includes(String((tool_choice as Json | undefined)?.type)))
    report('tool_choice: a forced tool cannot be combined with compaction');
  if ((output_config as Json | undefined)?.format !== undefined)
    report('output_config.format: cannot be combined with compaction');
  if (remaining(body) !== undefined) report('output_config.task_budget.remaining: not with compaction');
}

function checkBlock(block: Json, path: string, headers: Headers | undefined, report: Report): void {
  for (const key of Object.keys(block))
    if (!['type', 'content', 'signature', 'cache_control'].includes(key))
      report(`${path}.compaction.${key}: Extra inputs are not permitted`);
  const signed = signedIn(block);
  if (!signed || (headers && signed.account !== accountOf(headers)))
    report(`${path}: compaction_signature_invalid`);
  else if (signed.content !== hashOf(block.content)) report(`${path}: compaction_content_mismatch`);
}

function signedIn({ signature }: Json): Signed | undefined {
  try {
    return JSON.parse(Buffer.from(String(signature), 'base64url').toString()) as Signed;
  } catch {
    return undefined;
  }
}

function remaining({ output_config }: Json): unknown {
  return ((output_config as Json | undefined)?.task_budget as Json | undefined)?.remaining ?? undefined;
}

function accountOf(headers: Headers): string {
  // The same key in either header.
  return hashOf(String(headers['x-api-key'] ?? headers.authorization ?? '').replace(/^Bearer /, ''));
}

const isBlock = ({ content }: Json): boolean => listed(content).some(isSigned);

function blocksIn(messages: readonly Json[]) {
  return messages.flatMap(({ content }, at) =>
    listed(content).flatMap((block, index) => (isSigned(block) ? [{ block, at, index }] : [])),
  );
}

/** Of what the model reads: without marks of the cache, and without thinking, which may go. */
function hashOf(value: unknown): string {
  const { content } = (value ?? {}) as Json;
  const said = Array.isArray(content)
    ? {
        ...(value as Json),
        content: listed(content).filter(({ type }) => !String(type).endsWith('thinking')),
      }
    : value;
  const json = JSON.stringify(said, (key, member) => (key === 'cache_control' ? undefined : member)) ?? '';
  return createHash('sha256').update(json).digest('base64url').slice(0, 16);
}
