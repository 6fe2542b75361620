/** Decides, for each block of an answer, whether the caller sees it and who answers its calls. */
import { elementAt } from '../../lib/elements.ts';
import { asObject, asString, isObject, type JsonObject, parseObject } from '../../lib/json.ts';
import { CallSorter } from '../answers/joined-answers.ts';
import { isComplete, type ToolResult, type ToolTurn } from '../answers/tool-turn.ts';
import { isThinking } from '../chat/reasoning.ts';
import type { Media } from '../held-media.ts';
import { levels } from '../json/outline.ts';
import { scanObject, valueIn, withMembers } from '../json/spans.ts';
import { appendTo, calledName, type LongerBody } from '../tools.ts';
import { type AnswerBlock, isBlank, waitsForCaller } from './answer-blocks.ts';

/** The turn goes on when its caller sends the message back unchanged. */
const PAUSED = 'pause_turn';

/** Whether a message with this stop reason is complete, so that its calls are too. */
export function isWhole(stopReason: unknown): boolean {
  return stopReason !== PAUSED && stopReason !== 'compaction' && isComplete(stopReason);
}

const CUT = new Set<unknown>(['max_tokens', 'model_context_window_exceeded']);

/** Whether callers append a message with this stop reason to their array, and go on after it. */
export function isSaid(stopReason: unknown): boolean {
  return stopReason === PAUSED || isWhole(stopReason) || CUT.has(stopReason);
}

/** Whether it closes a round, if it calls no tools. */
export function isClosing(stopReason: unknown): boolean {
  return stopReason !== 'tool_use' && stopReason !== PAUSED && isSaid(stopReason);
}

/**
 * Whether another model goes on from here, since the one before has declined. What that has called
 * is left out of the history, without results
 * (https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback).
 */
function isFallback({ type }: JsonObject): boolean {
  return type === 'fallback';
}

/**
 * Sorts the blocks of one answer as they begin.
 *
 * Thinking passes at once, since most of it is long. What is thought after one of Precis's calls
 * may be bound to that call, which the caller never sends back, and is hidden with it.
 *
 * An answer in a form such as JSON has no texts of turns that are answered here, and nothing that
 * is thought after them.
 */
export class BlockSorter extends CallSorter {
  private readonly signs: boolean;
  private hasDropped = false;
  private hasHidden = false;

  /** @param signs whether thinking goes to the caller */
  constructor(names: ReadonlySet<string>, mayAnswer: () => boolean, signs: boolean) {
    super(names, mayAnswer);
    this.signs = signs;
  }

  /** Whether the answer has called tools, and the caller sees none of these calls. */
  get hidesCalls(): boolean {
    return this.hasDropped && !this.isCallers;
  }

  /**
   * Whether an answer ends with calls that the caller does not see, and says nothing, or nothing
   * after its last thinking: upstreams refuse a message in a history that ends with thinking.
   *
   * @param shown the blocks that the caller sees, of all answers so far
   */
  saysNothing(shown: () => readonly JsonObject[], stopReason: unknown): boolean {
    if (!this.hidesCalls || !isSaid(stopReason)) return false;
    const last = shown().findLast((block) => !isBlank(block));
    return last === undefined || isThinking(last);
  }

  /** Whether our calls among all blocks of an answer are to be answered. */
  areOurs(blocks: readonly JsonObject[]): boolean {
    for (const block of blocks) this.shows(block);
    return this.isOurs;
  }

  shows(block: JsonObject): boolean {
    if (isThinking(block)) return this.signs && !this.hasDropped && !this.hasHidden;
    if (block.type === 'text' && this.hidesTexts) {
      this.hasHidden = true;
      return false;
    }
    if (isFallback(block)) {
      this.startOver();
      this.hasDropped = false;
    }
    if (!waitsForCaller(block)) return true;
    const isOurs = this.calls(block);
    this.hasDropped ||= isOurs;
    return this.showsCall(isOurs);
  }

  /** Whether it is one of Precis's calls. A tool of a toolset is another one, whatever its name. */
  calls(block: JsonObject): boolean {
    const { name, toolset_name } = block;
    return (
      waitsForCaller(block) && this.names.has(calledName(asString(name))) && (toolset_name ?? null) === null
    );
  }
}

/**
 * The turn of an answer: all its blocks but the caller's calls, which have no results yet. Thinking
 * is bound to all blocks before it, so none is sent back after a block that is left out, or without
 * the block that it led to.
 */
export function turnOf(
  blocks: readonly AnswerBlock[],
  sorter: BlockSorter,
  container?: string | undefined,
): ToolTurn {
  const content: string[] = [];
  let thinking: string[] = [];
  let isCut = false;
  const from = blocks.findLastIndex(({ block }) => isFallback(block));
  for (const [at, answered] of blocks.entries()) {
    const { block } = answered;
    if (at < from && waitsForCaller(block)) thinking = [];
    else if (isThinking(block)) {
      if (!isCut) thinking.push(answered.json);
    } else if (waitsForCaller(block) && !sorter.calls(block)) {
      isCut = true;
      thinking = [];
    } else if (!isBlank(block)) {
      content.push(...thinking, sorter.calls(block) ? callJson(answered) : answered.json);
      thinking = [];
    }
  }
  const ours = blocks.filter(({ block }, at) => at > from && sorter.calls(block));
  const json = messageJson(content);
  return {
    messages: [asObject(JSON.parse(json))],
    json,
    ...(container === undefined ? {} : { container }),
    calls: ours.map(({ block: { id, name }, input = '{}' }) => ({
      id: asString(id),
      name: calledName(asString(name)),
      arguments: input,
    })),
  };
}

/** Upstreams refuse an input that is no object, and a name that is none. */
function callJson({ block, json, input = '' }: AnswerBlock): string {
  const name = calledName(asString(block.name));
  if (!parseObject(input)) return JSON.stringify({ ...block, name, input: {} });
  return name === block.name ? json : JSON.stringify({ ...block, name, input: parseObject(input) });
}

/** An answer as a message of the conversation. @param content the JSON of its blocks */
export function messageJson(content: readonly string[]): string {
  return `{"role":"assistant","content":[${content.join(',')}]}`;
}

/**
 * All results of a message are in the next one
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use).
 *
 * Code goes on in the container that the answer has run in: another one lacks its files, and calls
 * that code has made are refused without it.
 */
export function goOnMessages(
  body: Uint8Array,
  { messages, json, calls, container }: ToolTurn,
  results: readonly ToolResult[],
): LongerBody {
  const content = calls.map(({ id }, index) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: contentOf(elementAt(results, index)),
  }));
  const turn = json === undefined ? messages : [json];
  const longer = appendTo(body, 'messages', [...turn, { role: 'user', content }]);
  return container === undefined ? longer : { ...longer, body: inContainer(longer.body, container) };
}

/** A body that names a container. The skills that it loads there stay. */
function inContainer(body: Uint8Array, id: string): Uint8Array {
  const root = scanObject(body, levels(1));
  if (!root) return body;
  const given = valueIn(body, root, 'container');
  const named = isObject(given) ? { ...given, id } : id;
  return withMembers(body, root, [{ key: 'container', json: JSON.stringify(named) }]);
}

function contentOf(result: ToolResult): unknown {
  if (typeof result === 'string') return result;
  return [{ type: 'text', text: result.text }, ...result.media.map(blockOf)];
}

function blockOf({ kind, mediaType, base64, name }: Media): object {
  const source = { type: 'base64', media_type: mediaType, data: base64 };
  if (kind === 'image') return { type: 'image', source };
  return { type: 'document', source, ...(name === undefined ? {} : { title: name }) };
}
