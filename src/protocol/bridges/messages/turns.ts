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
import type { ChatBody, KeptOutputs, SentOutput } from '../bridge.ts';
import { callsIn, noteMembers, type Writing } from '../chat-fields.ts';
import { blocksOf, marked, noteParts, withMark } from './parts.ts';
import { echoedThinking } from './thinking.ts';

/** The text of a turn that has none where there has to be one: at the beginning, or at the end. */
const NOTHING_SAID = JSON.stringify({ type: 'text', text: '(no message)' });
/** The last turn after an answer, where a model continues none. */
const CONTINUE: Turn = { role: 'user', blocks: [JSON.stringify({ type: 'text', text: CONTINUE_LINE })] };

/** Messages in the API's form. */
export interface Turns {
  readonly system: readonly JsonObject[];
  readonly turns: readonly Turn[];
}

export interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  /** JSON: what is kept, and what a model has written as JSON, is not decoded. */
  readonly blocks: readonly string[];
}

export function turnsOf(
  { messages }: ChatBody,
  kept: KeptOutputs,
  { takesSystem, takesPrefill }: ClaudeTerms,
  writing: Writing,
): Turns {
  const { notices } = writing;
  noteMembers(messages, kept, notices);
  for (const [index, { content }] of messages.entries()) if (!kept(index)) noteParts(content, notices);
  const first = messages.findIndex((message) => !isOfSystem(message));
  // A conversation of instructions alone has its last one as a message.
  const begin = first < 0 ? messages.length - 1 : first;
  const turns: Turn[] = [];
  let open: Said[] = [];
  const close = (isAnswered: boolean): void => {
    turns.push(...userTurns(open, turns.length === 0, isAnswered, notices));
    open = [];
  };
  for (const [index, message] of messages.entries()) {
    if (index < begin) continue;
    if (message.role !== 'assistant') {
      open.push(saidOf(message, first >= 0 && takesSystem, writing));
      continue;
    }
    const output = kept(index);
    const isKept = output?.api === 'messages';
    const blocks = isKept ? keptBlocks(output, message, writing) : answerBlocks(message, writing);
    close(blocks.length > 0);
    if (blocks.length > 0) turns.push({ role: 'assistant', blocks });
  }
  close(true);
  if (turns.at(-1)?.role === 'assistant' && !takesPrefill) {
    turns.push(CONTINUE);
    notices.add('continuation_asked');
  }
  return { system: messages.slice(0, begin).flatMap(saidBlocks), turns };
}

const isOfSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer';

/** The blocks of a message that is no answer, with a mark that is on the message as a whole. */
function saidBlocks({ content, [MARK_FIELD]: mark }: JsonObject): JsonObject[] {
  return withMark(blocksOf(content), mark);
}

/** A message between two answers: a result, a part of the user's turn, or one of the system. */
interface Said extends Pick<Turn, 'blocks'> {
  readonly role: 'tool' | 'user' | 'system';
}

function saidOf(message: JsonObject, takesSystem: boolean, writing: Writing): Said {
  const isResult = message.role === 'tool';
  const isNote = takesSystem && isOfSystem(message);
  const blocks = isResult ? [resultOf(message, writing)] : saidBlocks(message);
  const role = isResult ? 'tool' : isNote ? 'system' : 'user';
  return { role, blocks: blocks.map((block) => JSON.stringify(block)) };
}

/**
 * The turns of the messages between two answers.
 *
 * @param isFirst whether they begin the conversation
 * @param isAnswered false: the answer has no turn, and one of the system must be before one
 */
function userTurns(open: Said[], isFirst: boolean, isAnswered: boolean, notices: Set<string>): Turn[] {
  const of = (role: Said['role']) => open.flatMap((said) => (said.role === role ? said.blocks : []));
  const notes = of('system');
  const own = [...of('tool'), ...of('user'), ...(isAnswered ? [] : notes.splice(0))];
  if (own.length === 0 && notes.length > 0 && !isFirst) return [{ role: 'user', blocks: notes }];
  if (own.length === 0 && (isFirst || open.length > 0)) {
    notices.add('empty_turn_filled');
    own.push(NOTHING_SAID);
  }
  const turns: Turn[] = own.length > 0 ? [{ role: 'user', blocks: own }] : [];
  return notes.length > 0 ? [...turns, { role: 'system', blocks: notes }] : turns;
}

/** The cache reads no marks inside of a result, so the last one is on the result itself. */
function resultOf(
  { tool_call_id, content, [MARK_FIELD]: ofMessage }: JsonObject,
  { calls }: Writing,
): JsonObject {
  const blocks = Array.isArray(content) ? blocksOf(content) : undefined;
  const mark = ofMessage ?? blocks?.flatMap(({ [MARK_FIELD]: inside }) => inside ?? []).at(-1);
  const plain = blocks?.map(({ [MARK_FIELD]: _, ...block }): JsonObject => block);
  return {
    type: 'tool_result',
    tool_use_id: calls.answered(tool_call_id).id,
    content: plain ? unwrapped(plain) : inputText(content),
    ...marked(mark),
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
  const last = calls.length - 1;
  const uses = calls.map((call, at) => useOf(call, ids[at], at === last ? mark : undefined, writing));
  return [...[...thinking, ...texts].map((block) => JSON.stringify(block)), ...uses];
}

/** The last mark of an answer, wherever its caller has put it. */
function markIn({ content, [MARK_FIELD]: mark }: JsonObject): unknown {
  return mark ?? asObjects(content).findLast((part) => isObject(part[MARK_FIELD]))?.[MARK_FIELD];
}

/** What is kept is sent with its own bytes, unless something has to change in it. */
function keptBlocks(output: SentOutput, message: JsonObject, writing: Writing): string[] {
  const { json, calls = callsIn(message) } = output;
  const mark = markIn(message);
  const ids = writing.calls.take(calls, true);
  const isSame = ids.every((id, at) => id === calls[at]?.id);
  if (isSame && !isObject(mark)) return json === '[]' ? [] : [json.slice(1, -1)];
  const blocks = (parseJson(json) as JsonObject[]).map((block) =>
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
  const use = { type: 'tool_use', id, name: names.short(asString(name), 'tool_'), ...marked(mark) };
  return `${JSON.stringify(use).slice(0, -1)},"input":${whole}}`;
}

/** Without thinking in an answer at the end, unless the model is to think: the API demands it. */
export function withLastThought(turns: readonly Turn[], thinking: JsonObject | undefined): readonly Turn[] {
  const last = turns.at(-1);
  if (last?.role !== 'assistant' || (thinking?.type ?? 'disabled') !== 'disabled') return turns;
  const blocks = parseJson(`[${last.blocks.join(',')}]`) as JsonObject[];
  const said = blocks.filter((block) => !isThinking(block)).map((block) => JSON.stringify(block));
  return [...turns.slice(0, -1), { ...last, blocks: said }];
}

/** Whether turns end in an answer, or results of a run, that does not begin with thinking. */
export function isUnthought(turns: readonly Turn[]): boolean {
  const isRound = ({ blocks }: Turn): boolean => blocks[0]?.startsWith('{"type":"tool_result"') === true;
  const last = turns.at(-1);
  if (!last || (last.role !== 'assistant' && !isRound(last))) return false;
  const asked = turns.findLastIndex((turn) => turn.role === 'user' && !isRound(turn));
  const [first] = parseJson(`[${turns[asked + 1]?.blocks[0] ?? ''}]`) as JsonObject[];
  return first !== undefined && !isThinking(first);
}
