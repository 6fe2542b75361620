/**
 * What a chat message repeats of Precis's rounds before it (`repeated.ts`). The caller got each
 * field of all answers joined into one, so the fields of the rounds are the beginnings of its
 * fields.
 */
import { asList, asObject, asObjects, asString, type JsonObject } from '../../lib/json.ts';
import { sourceLength } from '../../lib/json-strings.ts';
import { type JsonSpan, levels } from '../json/outline.ts';
import { cutMembers, fieldOf, jsonOf, type Splice, textOf, within } from '../json/spans.ts';
import { firstOwn, type Piece, readRounds } from '../repeated.ts';
import { saysNothing } from './calls.ts';
import {
  isThinking,
  PROVIDER_FIELDS,
  REASONING_CONTENT,
  THINKING_BLOCKS,
  THINKING_LISTS,
  THOUGHT_FIELDS,
} from './reasoning.ts';

/** What is cut from a message. */
export interface RepeatedFields {
  /** Members that are repeated whole. */
  readonly fields: ReadonlySet<string>;
  /** The cuts inside of all other members. */
  readonly splices: readonly Splice[];
  /** Whether nothing is left of the content. */
  readonly isSilent: boolean;
}

/**
 * Finds what rounds repeat of the answer after them. Its text stays where nothing else would be
 * left of the message: upstreams refuse an empty one.
 *
 * @param json of the rounds
 * @param isCleared whether the message loses all of its thinking. That in its content is cut here
 */
export function repeatedFields(
  bytes: Uint8Array,
  message: JsonSpan,
  json: string,
  isCleared: boolean,
): RepeatedFields {
  const rounds = readRounds(json)
    .map(asObject)
    .filter(({ role }) => role === 'assistant');
  const whole = within(bytes, message, levels(1));
  const content = ofContent(bytes, whole, rounds, isCleared);
  if (isCleared) return { fields: new Set(), ...content };
  const fields = new Set<string>();
  const splices = [...content.splices];
  const cut = (key: string, cuts: readonly Splice[] | 'all'): void => {
    if (cuts === 'all') fields.add(key);
    else splices.push(...cuts);
  };
  for (const key of THOUGHT_FIELDS) cut(key, ofText(bytes, fieldOf(whole, key), rounds, key));
  for (const key of THINKING_LISTS)
    cut(
      key,
      ofList(
        bytes,
        fieldOf(whole, key),
        rounds.map((round) => round[key]),
      ),
    );
  const provider = fieldOf(whole, PROVIDER_FIELDS);
  if (provider?.kind === 'object') {
    const inside = within(bytes, provider, levels(1));
    const lists = rounds.map((round) => asObject(round[PROVIDER_FIELDS])[THINKING_BLOCKS]);
    const cuts = ofList(bytes, fieldOf(inside, THINKING_BLOCKS), lists);
    const members = inside.fields ?? [];
    if (cuts !== 'all') splices.push(...cuts);
    else splices.push(...cutMembers(members, (at) => members[at]?.key === THINKING_BLOCKS));
  }
  return { fields, splices, isSilent: content.isSilent };
}

/** A text of thoughts. `REASONING_CONTENT` stays, empty. */
function ofText(
  bytes: Uint8Array,
  text: JsonSpan | undefined,
  rounds: readonly JsonObject[],
  key: string,
): readonly Splice[] | 'all' {
  if (text?.kind !== 'string') return [];
  const said = asString(jsonOf(bytes, text));
  const length = lengthBefore(said, rounds.map((round) => asString(round[key])).join(''));
  if (length === 0) return [];
  const isAll = length === said.length && key !== REASONING_CONTENT;
  return isAll ? 'all' : [cutBeginning(bytes, text, length)];
}

/** A list of thinking. */
function ofList(
  bytes: Uint8Array,
  list: JsonSpan | undefined,
  earlier: readonly unknown[],
): readonly Splice[] | 'all' {
  if (list?.kind !== 'array') return [];
  const earlierPieces = earlier.flatMap((one) => asList(one).map(pieceOf));
  const elements = within(bytes, list, levels(1)).items ?? [];
  const pieces = elements.map((span) => pieceOf(jsonOf(bytes, span)));
  const first = firstOwn(pieces, earlierPieces);
  const ids = new Set(earlierPieces.flatMap(({ id }) => id ?? []));
  const isRepeated = (at: number): boolean => at < first || ids.has(pieces[at]?.id ?? '');
  if (elements.length > 0 && elements.every((_, at) => isRepeated(at))) return 'all';
  return cutMembers(elements, isRepeated);
}

/** The content, and whether nothing is left of it. */
function ofContent(
  bytes: Uint8Array,
  whole: JsonSpan,
  rounds: readonly JsonObject[],
  losesThinking: boolean,
): Pick<RepeatedFields, 'splices' | 'isSilent'> {
  const content = fieldOf(whole, 'content');
  const earlierParts = rounds.flatMap((round) => partsOf(round.content));
  const spans = content?.kind === 'array' ? (within(bytes, content, levels(2)).items ?? []) : [];
  const parts = spans.map((span) => asObject(jsonOf(bytes, span)));
  const thoughts = new Set(earlierParts.filter(isThinking).flatMap((part) => pieceOf(part).id ?? []));
  const isCut = (part: JsonObject): boolean =>
    isThinking(part) && (losesThinking || thoughts.has(pieceOf(part).id ?? ''));
  const cut = new Set([...parts.entries()].flatMap(([at, part]) => (isCut(part) ? [at] : [])));
  const ofThinking = () => cutMembers(spans, (at) => cut.has(at));

  const texts = content?.kind === 'string' ? [content] : spans.map((span) => fieldOf(span, 'text'));
  const places = texts.flatMap((span, at) =>
    span?.kind === 'string' && !isThinking(parts[at] ?? {})
      ? [{ at, span, text: asString(jsonOf(bytes, span)) }]
      : [],
  );
  const said = places.map(({ text }) => text).join('');
  let left = lengthBefore(
    said,
    earlierParts.map(({ type, text }) => (type === 'text' ? asString(text) : '')).join(''),
  );
  const isAll =
    left === said.length && parts.length === cut.size + (content?.kind === 'array' ? places.length : 0);
  if (isAll && left + cut.size > 0 && content && hasMore(bytes, whole))
    return { splices: [{ start: content.start, end: content.end, with: 'null' }], isSilent: true };
  if (isAll) return { splices: ofThinking(), isSilent: false };
  const splices: Splice[] = [];
  for (const { at, span, text } of places) {
    if (left > 0 && left >= text.length) cut.add(at);
    else if (left > 0) splices.push(cutBeginning(bytes, span, left));
    left = Math.max(0, left - text.length);
  }
  return { splices: [...splices, ...ofThinking()], isSilent: false };
}

function partsOf(content: unknown): readonly JsonObject[] {
  return Array.isArray(content) ? asObjects(content) : [{ type: 'text', text: content }];
}

/** A text without the tagged thinking of some models, which clients may cut out. */
function withoutTagged(text: string): string {
  const [first = '', ...tagged] = text.split('<think>');
  const rest = tagged.map((piece) => piece.slice(piece.indexOf('</think>') + '</think>'.length).trimStart());
  return [first, ...rest].join('');
}

/**
 * How many characters of a text are what rounds have said before it. Clients cut white space at its
 * ends. None if it does not begin with all of that: the caller has not seen it.
 */
function lengthBefore(said: string, before: string): number {
  const forms = [before, withoutTagged(before)].flatMap((form) => [form, form.trimStart()]);
  const found = forms.find((form) => said.startsWith(form) || said === form.trimEnd());
  return Math.min(found?.length ?? 0, said.length);
}

function cutBeginning(bytes: Uint8Array, string: JsonSpan, characters: number): Splice {
  const source = textOf(bytes, string);
  const length = Buffer.byteLength(source.slice(0, sourceLength(source, characters)));
  return { start: string.start + 1, end: string.start + length, with: '' };
}

/** What names an element of a list of thinking, or a part. */
const IDS = ['signature', 'data', 'id'] as const;
const WORDS = ['text', 'thinking', 'summary'] as const;

function pieceOf(element: unknown): Piece {
  const { summary } = asObject(element);
  const fields = { ...asObject(asList(summary)[0]), ...asObject(element) };
  const first = (keys: readonly string[]): string | undefined =>
    keys.map((key) => asString(fields[key])).find((value) => value !== '');
  return { id: first(IDS), words: first(WORDS) };
}

/** Whether a message says anything beside its content. */
function hasMore(bytes: Uint8Array, whole: JsonSpan): boolean {
  return ['tool_calls', 'function_call', 'refusal', 'audio'].some((key) => {
    const value = fieldOf(whole, key);
    return value !== undefined && !saysNothing(jsonOf(bytes, value));
  });
}
