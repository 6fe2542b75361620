/**
 * The prompt cache of Anthropic's API: it is written at marks, and read at marks and up to twenty
 * blocks before each (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
import { createHash } from 'node:crypto';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { lruOf } from '../../src/lib/lru.ts';
import { type Json, listed } from './json.ts';

/** As the API writes it. */
export interface MessagesUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens: number;
  readonly service_tier: 'standard';
}

/** In tokens. No shorter prompt of these models is kept. */
const LEAST: Readonly<Record<string, number>> = { 'claude-opus-4-6': 4_096 };

/** How many blocks before a mark are looked up. */
const LOOKBACK = 20;

/** A block in the order in which the API reads it: tools, system, messages. */
interface ReadBlock {
  /** The hash of all blocks until here. */
  readonly prefix: string;
  /** Tokens until here. */
  readonly tokens: number;
  readonly mark: Json | undefined;
}

export class MessagesCache {
  private readonly entries = new Set<string>();

  /** Bills a prompt, and writes what its marks ask for. */
  usage(body: Json, output_tokens: number): MessagesUsage {
    const blocks = blocksOf(body);
    const marked = blocks.flatMap(({ mark }, index) => (mark ? [index] : []));
    const all = blocks.at(-1)?.tokens ?? 0;
    const hit = Math.max(-1, ...marked.map((index) => this.found(blocks, index)));
    const read = blocks[hit]?.tokens ?? 0;
    const written = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
    let until = read;
    for (const index of marked) {
      const { prefix, tokens, mark } = blocks[index] as ReadBlock;
      if (tokens < (LEAST[String(body.model)] ?? 0)) continue;
      this.entries.add(prefix);
      if (tokens <= until) continue;
      written[mark?.ttl === '1h' ? 'ephemeral_1h_input_tokens' : 'ephemeral_5m_input_tokens'] +=
        tokens - until;
      until = tokens;
    }
    return {
      input_tokens: all - until,
      cache_creation_input_tokens: until - read,
      cache_read_input_tokens: read,
      cache_creation: written,
      output_tokens,
      service_tier: 'standard',
    };
  }

  /** The block up to which a mark finds an entry; -1 without one. */
  private found(blocks: readonly ReadBlock[], mark: number): number {
    for (let index = mark; index >= Math.max(0, mark - LOOKBACK); index--)
      if (this.entries.has(blocks[index]?.prefix ?? '')) return index;
    return -1;
  }
}

/** The tokens of blocks, which come again in each request of a conversation. */
const counted = lruOf<number>({ bytes: 16 * 1024 ** 2 });

/** The tokens of a whole prompt. */
export function promptTokens(body: Json): number {
  return blocksOf(body).at(-1)?.tokens ?? 0;
}

function blocksOf({ model, tools, system, messages, cache_control }: Json): ReadBlock[] {
  const all = [
    ...listed(tools).map((block) => ['tool', block] as const),
    ...contentOf(system).map((block) => ['system', block] as const),
    ...listed(messages).flatMap(({ role, content }) =>
      contentOf(content).map((block) => [String(role), block] as const),
    ),
  ];
  let hash = String(model);
  let tokens = 0;
  return all.map(([role, { cache_control: mark, ...block }], index) => {
    const text = JSON.stringify([role, block]);
    hash = createHash('sha256').update(hash).update(text).digest('base64url');
    tokens += counted.remember(text, () => countTokens(text));
    const automatic = index === all.length - 1 ? cache_control : undefined;
    return { prefix: hash, tokens, mark: (mark ?? automatic ?? undefined) as Json | undefined };
  });
}

function contentOf(content: unknown): Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listed(content);
}
