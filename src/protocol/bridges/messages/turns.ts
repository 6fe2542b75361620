/**
 * The messages of a chat body as `system` and turns.
 *
 * All results of a round and what the user says after them are one message, results first. Where a
 * message is written depends on its neighbors alone, so a longer array begins with the same turns.
 * A message of the system after the first others is one where the model takes it, and otherwise a
 * text of the user's turn.
 *
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
import {
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
  parseJson,
  parseObject,
} from '../../../lib/json.ts';
import { CONTINUE_LINE } from '../../../memory/conversation/session-summary.ts';
import type { ClaudeTerms } from '../../../memory/models/claude-terms.ts';
import { inputText } from '../../call-input.ts';
import { isThinking } from '../../chat/reasoning.ts';
import { MARK_FIELD } from '../../messages/block.ts';
import type { BridgeOptions, ChatBody, KeptOutput } from '../bridge.ts';
import { callsIn, noteMembers } from '../chat-fields.ts';
import { type SentOutput, sentOutput } from '../kept-outputs.ts';
import { SentCalls } from '../sent-calls.ts';
import type { ShortNames } from '../short-names.ts';
import { blocksOf, noteParts, withMark } from './parts.ts';
import { echoedThinking } from './thinking.ts';

/** The text of a turn that has none where there has to be one: at the beginning, or at the end. */
const NOTHING_SAID = JSON.stringify({ type: 'text', text: '(no message)' });
/** The last turn after an answer, where a model continues none. */
const CONTINUE: Turn = { role: 'user', blocks: [JSON.stringify({ type: 'text', text: CONTINUE_LINE })] };

/** What the writers of turns share. */
interface Writing {
  readonly names: ShortNames;
  readonly notices: Set<string>;
  readonly options: Pick<BridgeOptions, 'leavesOutReasoning'>;
  readonly terms: Pick<ClaudeTerms, 'takesSystem' | 'takesPrefill'>;
  readonly calls: SentCalls;
}

/** Messages in the API's form. */
export interface Turns {
  readonly system: readonly JsonObject[];
  readonly turns: readonly Turn[];
  /** Whether the array ends in the results of a run of calls that does not begin with thinking. */
  isUnthought(): boolean;
}

export interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  /** JSON: what is kept, and what a model has written as JSON, is not decoded. */
  readonly blocks: readonly string[];
}

export function turnsOf(
  { messages }: ChatBody,
  kept: (index: number) => KeptOutput | undefined,
  shared: Omit<Writing, 'calls'>,
): Turns {
  const writing: Writing = { ...shared, calls: new SentCalls(shared.names) };
  noteMembers(messages, shared.notices);
  for (const { content } of messages) noteParts(content, shared.notices);
  const first = messages.findIndex((message) => !isOfSystem(message));
  // A conversation of instructions alone has its last one as a message.
  const begin = first < 0 ? messages.length - 1 : first;
  const system = messages.slice(0, begin).flatMap(saidBlocks);
  const turns: Turn[] = [];
  let open = new UserTurn(writing);
  for (const [index, message] of messages.entries()) {
    if (index < begin) continue;
    if (message.role !== 'assistant') {
      open.add(first < 0 ? { ...message, role: 'user' } : message);
      continue;
    }
    const output = sentOutput(messages, kept, index, 'messages');
    const blocks = output ? keptBlocks(output, markIn(message), writing) : answerBlocks(message, writing);
    const isAnswered = blocks.length > 0;
    turns.push(...open.turns(turns.length === 0, isAnswered));
    open = new UserTurn(writing);
    if (isAnswered) turns.push({ role: 'assistant', blocks });
  }
  turns.push(...open.turns(turns.length === 0));
  if (turns.at(-1)?.role === 'assistant' && !shared.terms.takesPrefill) {
    turns.push(CONTINUE);
    shared.notices.add('continuation_asked');
  }
  return { system, turns, isUnthought: () => isUnthought(turns) };
}

/** The JSON of turns. */
export function messagesJson(turns: readonly Turn[]): string {
  const json = turns.map(({ role, blocks }) => `{"role":"${role}","content":[${blocks.join(',')}]}`);
  return `[${json.join(',')}]`;
}

const isOfSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer';

/** The blocks of a message that is no answer, with a mark that is on the message as a whole. */
function saidBlocks({ content, [MARK_FIELD]: mark }: JsonObject): JsonObject[] {
  return withMark(blocksOf(content), mark);
}

/** The messages between two answers. */
class UserTurn {
  private readonly writing: Writing;
  private readonly results: string[] = [];
  private readonly said: string[] = [];
  private readonly notes: string[] = [];
  private isEmpty = true;

  constructor(writing: Writing) {
    this.writing = writing;
  }

  add(message: JsonObject): void {
    this.isEmpty = false;
    if (message.role === 'tool') {
      this.results.push(JSON.stringify(resultOf(message, this.writing)));
      return;
    }
    const list = isOfSystem(message) && this.writing.terms.takesSystem ? this.notes : this.said;
    list.push(...saidBlocks(message).map((block) => JSON.stringify(block)));
  }

  /**
   * @param isFirst whether it begins the conversation
   * @param isAnswered false: the answer has no turn, and one of the system must be before one
   */
  turns(isFirst: boolean, isAnswered = true): Turn[] {
    if (!isAnswered) this.said.push(...this.notes.splice(0));
    const own = [...this.results, ...this.said];
    if (own.length === 0 && this.notes.length > 0 && !isFirst) return [{ role: 'user', blocks: this.notes }];
    if (own.length === 0 && (isFirst || !this.isEmpty)) {
      this.writing.notices.add('empty_turn_filled');
      own.push(NOTHING_SAID);
    }
    const turns: Turn[] = own.length > 0 ? [{ role: 'user', blocks: own }] : [];
    return this.notes.length > 0 ? [...turns, { role: 'system', blocks: this.notes }] : turns;
  }
}

/** The cache reads no marks inside of a result, so the last one is on the result itself. */
function resultOf(
  { tool_call_id, content, [MARK_FIELD]: ofMessage }: JsonObject,
  writing: Writing,
): JsonObject {
  const blocks = Array.isArray(content) ? blocksOf(content) : undefined;
  const mark = ofMessage ?? blocks?.flatMap(({ [MARK_FIELD]: inside }) => inside ?? []).at(-1);
  const plain = blocks?.map(({ [MARK_FIELD]: _, ...block }): JsonObject => block);
  return {
    type: 'tool_result',
    tool_use_id: writing.calls.answered(tool_call_id).id,
    content: plain ? unwrapped(plain) : inputText(content),
    ...(isObject(mark) ? { [MARK_FIELD]: mark } : {}),
  };
}

/**
 * A text alone as a string: a mark that comes or goes changes no form, to which later thinking
 * would be bound.
 */
function unwrapped(blocks: JsonObject[]): string | JsonObject[] {
  const [block, ...others] = blocks;
  const isText = block?.type === 'text' && others.length === 0 && Object.keys(block).length === 2;
  return isText ? asString(block.text) : blocks;
}

function answerBlocks(message: JsonObject, writing: Writing): string[] {
  const mark = markIn(message);
  const calls = callsIn(message);
  const said = [...blocksOf(message.content), ...blocksOf(message.refusal)].filter(
    (block) => !isThinking(block),
  );
  if (said.length + calls.length === 0) return [];
  const thinking = writing.options.leavesOutReasoning ? [] : echoedThinking(message);
  const texts = calls.length > 0 ? said : withMark(said, mark);
  const ids = writing.calls.take(calls);
  const uses = calls.map((call, at) =>
    useOf(call, ids[at], at === calls.length - 1 ? mark : undefined, writing),
  );
  return [...[...thinking, ...texts].map((block) => JSON.stringify(block)), ...uses];
}

/** The last mark of an answer, wherever its caller has put it. */
function markIn({ content, [MARK_FIELD]: mark }: JsonObject): unknown {
  return mark ?? asObjects(content).findLast((part) => isObject(part[MARK_FIELD]))?.[MARK_FIELD];
}

/** What is kept is sent with its own bytes, unless something has to change in it. */
function keptBlocks({ elements, calls }: SentOutput, mark: unknown, writing: Writing): string[] {
  const ids = writing.calls.take(calls, true);
  const isSame = ids.every((id, at) => id === calls[at]?.id);
  if (isSame && !isObject(mark)) return elements === '' ? [] : [elements];
  const blocks = (parseJson(`[${elements}]`) as JsonObject[]).map((block) =>
    block.type === 'tool_use' ? { ...block, id: ids.shift() } : block,
  );
  return withMark(blocks, mark).map((block) => JSON.stringify(block));
}

/**
 * A call with the bytes of its arguments, whose numbers may have more digits than JavaScript's. A
 * text that is no object, such as the input of a custom tool, is a text in one.
 */
function useOf(call: JsonObject, id: unknown, mark: unknown, { names, notices }: Writing): string {
  const { name, arguments: said, input = said } = asObject(call.function ?? call.custom);
  const text = isObject(input) ? JSON.stringify(input) : asString(input).trim();
  const isInput = parseObject(text) !== undefined;
  if (!isInput && text !== '') notices.add('arguments_not_object');
  const whole = isInput ? text : JSON.stringify(text === '' ? {} : { input: text });
  const head = { type: 'tool_use', id, name: names.short(asString(name), 'tool_') };
  const marked = isObject(mark) ? `,"${MARK_FIELD}":${JSON.stringify(mark)}` : '';
  return `${JSON.stringify(head).slice(0, -1)},"input":${whole}${marked}}`;
}

function isUnthought(turns: readonly Turn[]): boolean {
  const isRound = ({ blocks }: Turn): boolean => blocks[0]?.startsWith('{"type":"tool_result"') === true;
  const last = turns.at(-1);
  if (!last || !isRound(last)) return false;
  const asked = turns.findLastIndex((turn) => turn.role === 'user' && !isRound(turn));
  const [first] = parseJson(`[${turns[asked + 1]?.blocks[0] ?? ''}]`) as JsonObject[];
  return first !== undefined && !isThinking(first);
}
