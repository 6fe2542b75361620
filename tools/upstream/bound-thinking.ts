/**
 * Thinking as Claude's models have signed it since Fable 5.1: each block is bound to everything
 * before it, which is the tools, the instructions, all earlier messages and the block before it
 * (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). It is written as
 * gateways with OpenAI's APIs write it.
 */
import { createHash, type Hash } from 'node:crypto';
import { type Json, listed } from './json.ts';

/** The beta that has `thinking.block_binding`. */
export const BINDING_CONTROLS = 'thinking-binding-controls-2026-08-01';

/**
 * Where a gateway puts thinking: OpenRouter in `reasoning_details`, LiteLLM in `thinking_blocks`,
 * others in Anthropic's parts of a content, or in items of the Responses API. In Messages it is a
 * block.
 */
export type Dialect = 'openrouter' | 'litellm' | 'parts' | 'responses' | 'messages';

/** A block, and the index of the message or item that has it. */
interface Block {
  readonly element: number;
  readonly text: string;
  readonly signature: string;
}

/** Anthropic's words for a block after a changed prefix. */
export function boundWords(element: number): string {
  return `messages.${element}.content.0: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation.`;
}

/** The first block that is refused; undefined if all of them are valid. */
export function refusedBlock(body: Json): Block | undefined {
  return invalidBlocks(body)[0];
}

/** The blocks that the model is not shown if the ones after a changed prefix are dropped. */
export function invalidBlocks(body: Json): Block[] {
  const valid = new Set(validBlocks(body).map(({ signature }) => signature));
  return blocksIn(body).filter(({ signature }) => !valid.has(signature));
}

/**
 * The blocks that the model is shown if the ones after a changed prefix are dropped: one that has
 * nothing invalid before it, and on.
 */
function validBlocks(body: Json): Block[] {
  const valid: Block[] = [];
  const ownHash = bindingsIn(body);
  for (const block of blocksIn(body)) {
    const [own, last] = block.signature.split('.');
    const before = valid.at(-1);
    if (own === ownHash(block) && (!before || last === idOf(before.signature))) valid.push(block);
  }
  return valid;
}

/** Whether a request asks for blocks after a changed prefix to be dropped. */
export function asksToDrop({ body, headers }: { readonly body: Json; readonly headers: Json }): boolean {
  const { block_binding } = (body.thinking ?? {}) as { block_binding?: Json };
  const isOn = String(headers['anthropic-beta']).split(',').includes(BINDING_CONTROLS);
  return isOn && block_binding?.prefix_mismatch_behavior === 'drop_block';
}

/** The text and the signature of the next answer's thinking. */
export function nextThought(body: Json, text: string): Pick<Block, 'text' | 'signature'> {
  const elements = elementsOf(body);
  const last = validBlocks(body).at(-1);
  const own = bindingsIn(body)({ element: elements.length, text });
  return { text, signature: `${own}.${last ? idOf(last.signature) : ''}` };
}

/** The fields of a chat message with a block. */
export function fieldsOf(dialect: Dialect, { text, signature }: Pick<Block, 'text' | 'signature'>): Json {
  if (dialect === 'openrouter')
    return {
      reasoning: text,
      reasoning_details: [
        { type: 'reasoning.text', text, signature, format: 'anthropic-claude-v1', index: 0 },
      ],
    };
  const thinking_blocks = [{ type: 'thinking', thinking: text, signature }];
  return { reasoning_content: text, thinking_blocks, provider_specific_fields: { thinking_blocks } };
}

/** The same as deltas of a stream: the text in pieces, and the signature in the last one. */
export function deltasOf(dialect: Dialect, { text, signature }: Pick<Block, 'text' | 'signature'>): Json[] {
  const pieces = text.match(/.{1,9}/gsu) ?? [];
  if (dialect === 'openrouter') {
    const detail = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
    return [
      ...pieces.map((piece) => ({ reasoning: piece, reasoning_details: [{ ...detail, text: piece }] })),
      { reasoning_details: [{ ...detail, signature }] },
    ];
  }
  const delta = (thinking: string, signed: string): Json => {
    const thinking_blocks = [{ type: 'thinking', thinking, signature: signed }];
    return { thinking_blocks, provider_specific_fields: { thinking_blocks } };
  };
  return [
    ...pieces.map((piece) => ({ reasoning_content: piece, ...delta(piece, '') })),
    delta('', signature),
  ];
}

/** Text and signature as the encrypted content of a reasoning item. */
export function sealedThought({ text, signature }: Pick<Block, 'text' | 'signature'>): string {
  return Buffer.from(JSON.stringify([text, signature])).toString('base64');
}

/** All blocks of a body, in order. */
export function blocksIn(body: Json): Block[] {
  return elementsOf(body).flatMap((element, index) =>
    thoughtsIn(element).map(([text, signature]) => ({ element: index, text, signature })),
  );
}

function thoughtsIn({ type, encrypted_content, reasoning_details, thinking_blocks, content }: Json) {
  if (type === 'reasoning') return [JSON.parse(Buffer.from(String(encrypted_content), 'base64').toString())];
  const parts = Array.isArray(content) ? content.filter((part: Json) => part.type === 'thinking') : [];
  const blocks = [...listed(reasoning_details), ...listed(thinking_blocks), ...parts];
  return blocks.map(({ text, thinking, signature }: Json): [string, string] => [
    String(text ?? thinking ?? ''),
    String(signature ?? ''),
  ]);
}

const elementsOf = ({ messages, input }: Json): Json[] => listed(messages ?? input);

/** What each block of a body is bound to. An element is read once for all blocks after it. */
function bindingsIn(body: Json): (block: Pick<Block, 'element' | 'text'>) => string {
  const elements = elementsOf(body);
  const beginning = createHash('sha256').update(JSON.stringify(beginningOf(body), withoutMarks));
  /** The hash of all before each element. */
  const before = [beginning];
  let last = beginning;
  return ({ element, text }) => {
    for (const next of elements.slice(before.length - 1, element)) {
      last = last.copy();
      for (const read of withoutThinking(next)) last.update(JSON.stringify(read));
      before.push(last);
    }
    return shortened((before[element] ?? last).copy().update(JSON.stringify(text)));
  };
}

/**
 * What precedes the first element. OpenAI's models read `instructions` last, and bind what they
 * think to settings, too (https://developers.openai.com/api/docs/guides/keep-prefix-unchanged,
 * 2026-11).
 */
function beginningOf(body: Json): unknown[] {
  const tools = body.tools ?? [];
  if (!String(body.model).startsWith('gpt-')) return [tools, body.instructions ?? body.system ?? null];
  const { model, reasoning, reasoning_effort, text, response_format, safety_identifier, user } = body;
  const { effort = reasoning_effort } = (reasoning ?? {}) as Json;
  return [tools, model, effort, text ?? response_format, safety_identifier, user];
}

const idOf = (signature: string): string => hash(signature);

const hash = (text: string): string => shortened(createHash('sha256').update(text));

const shortened = (of: Hash): string => of.digest('base64url').slice(0, 24);

/** Members that say nothing to the model. */
const SILENT = new Set([
  ...['reasoning', 'reasoning_content', 'reasoning_details', 'thinking_blocks', 'provider_specific_fields'],
  ...['id', 'status', 'refusal', 'annotations', 'cache_control'],
]);

/** What the model reads of an element beside its thinking; nothing if that is all of it. */
function withoutThinking(element: Json): unknown[] {
  if (element.type === 'reasoning') return [];
  const { content, ...rest } = element;
  const isCall = element.type !== undefined && element.type !== 'message';
  const fields = Object.entries(rest)
    .filter(([key, value]) => !SILENT.has(key) && value !== null)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const said = textOf(content);
  if (element.role === 'assistant' && said === '' && !('tool_calls' in rest)) return [];
  return [isCall ? fields : [...fields.filter(([key]) => key !== 'type'), said]];
}

/** Marks of the prompt cache may come and go. */
const withoutMarks = (key: string, value: unknown): unknown => (key === 'cache_control' ? undefined : value);

function textOf(content: unknown): unknown {
  if (typeof content === 'string') return content;
  return listed(content)
    .filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    .map(({ text, ...part }) => (typeof text === 'string' ? text : JSON.stringify(part, withoutMarks)))
    .join('\n');
}
