/**
 * Outputs of OpenAI's own tools: where their texts are in an item, and how a placeholder replaces
 * them (https://platform.openai.com/docs/api-reference/responses/create).
 *
 * Only texts are edited. The first one becomes the placeholder and the others become empty, so each
 * list keeps its elements with their ids, names, scores and exit codes, and each item the fields
 * that its type requires. An output with a single text counts as that text, which is how a
 * placeholder that comes back is recognized.
 */
import { bufferOf } from '../../lib/bytes.ts';
import type { Content } from '../../memory/conversation/message.ts';
import { type JsonSpan, type Outline, only } from '../json/outline.ts';
import {
  bytesOf,
  fieldOf,
  jsonOf,
  type Splice,
  splice,
  stringIn,
  textOf,
  topField,
  within,
} from '../json/spans.ts';
import { MOST_MESSAGES } from '../model-request.ts';

/** Where an item has its output. */
interface Place {
  readonly field: string;
  /** Whether a member of an element is a text that the tool has put out. */
  isText(member: string): boolean;
}

const among =
  (...members: string[]) =>
  (member: string): boolean =>
    members.includes(member);

/**
 * What identifies a web page or an element of its results. No type describes the results of a web
 * search, so all other texts in them are taken for its output.
 */
const OF_PAGE = /^(?:type|id|url|title|source|status|date|language|favicon|image|thumbnail)$|_(?:id|url|at)$/;

const PLACES: ReadonlyMap<string, Place> = new Map([
  ['file_search_call', { field: 'results', isText: among('text') }],
  ['web_search_call', { field: 'results', isText: (member) => !OF_PAGE.test(member) }],
  ['code_interpreter_call', { field: 'outputs', isText: among('logs') }],
  ['mcp_call', { field: 'output', isText: among('text') }],
  ['shell_call_output', { field: 'output', isText: among('stdout', 'stderr') }],
  ['local_shell_call_output', { field: 'output', isText: among('stdout', 'stderr') }],
  ['apply_patch_call_output', { field: 'output', isText: among('text') }],
]);

/** The kinds of items with such an output. */
export const HOSTED: readonly string[] = [...PLACES.keys()];

/** A longer list stays as it is. No tool puts out as many. */
const LIST: Outline = { items: { fields: {}, most: 1_000 }, most: 10_000 };

export class HostedOutput {
  private readonly body: Uint8Array;
  private readonly spans: readonly JsonSpan[];
  /** The elements of a list that have texts. */
  private readonly elements: readonly JsonSpan[];

  private constructor(body: Uint8Array, spans: readonly JsonSpan[], elements: readonly JsonSpan[]) {
    this.body = body;
    this.spans = spans;
    this.elements = elements;
  }

  /** Not empty. In the order of the item. Decoded on each call. */
  get texts(): readonly string[] {
    return this.spans.map((span) => jsonOf(this.body, span) as string);
  }

  /**
   * Reads the output of an item.
   *
   * @returns undefined if it holds no text, or the item is of a kind that is not edited
   */
  static read(body: Uint8Array, type: string, item: JsonSpan): HostedOutput | undefined {
    const place = PLACES.get(type);
    const value = place && fieldOf(item, place.field);
    if (!value) return undefined;
    if (value.kind === 'string') return isEmpty(value) ? undefined : new HostedOutput(body, [value], []);
    if (value.kind !== 'array') return undefined;
    const elements = (within(body, value, LIST).items ?? []).map((element) => ({
      element,
      texts: textsIn(element, place),
    }));
    const spans = elements.flatMap(({ texts }) => texts);
    if (spans.length === 0) return undefined;
    const holding = elements.flatMap(({ element, texts }) => (texts.length > 0 ? [element] : []));
    return new HostedOutput(body, spans, holding);
  }

  /** The output as its ref returns it: its text, or the elements of its list that have texts. */
  content(item: string): Content {
    const { texts, spans, body } = this;
    const [only = ''] = texts;
    const isOne = texts.length === 1;
    return {
      text: isOne ? only : `[${this.elements.map((element) => textOf(body, element)).join(',')}]`,
      type: isOne ? 'text/plain; charset=utf-8' : 'application/json',
      weight: { texts, flat: 0 },
      room: () => bytesOf(spans) - EMPTY.length * (spans.length - 1),
      item,
    };
  }

  /** The JSON of a span around the output, with its texts left empty. */
  around(span: JsonSpan): string {
    return bufferOf(splice(this.body, span, this.replacing(EMPTY))).toString('utf8');
  }

  /** Puts a placeholder in the output's place. */
  splices(placeholder: string): Splice[] {
    return this.replacing(JSON.stringify(placeholder));
  }

  /** @param first the JSON instead of the first text */
  private replacing(first: string): Splice[] {
    return this.spans.map(({ start, end }, index) => ({ start, end, with: index === 0 ? first : EMPTY }));
  }
}

const EMPTY = '""';

function textsIn(element: JsonSpan, place: Place): JsonSpan[] {
  const fields = element.fields ?? [];
  return fields.flatMap(({ key, value }) =>
    value.kind === 'string' && !isEmpty(value) && place.isText(key) ? [value] : [],
  );
}

function isEmpty({ start, end }: JsonSpan): boolean {
  return end - start <= EMPTY.length;
}

const IDENTIFIED: Outline = { items: only(['type', 'id']), most: MOST_MESSAGES };

/** `input[3].results`, `input.3.results`, and pydantic's `"loc": ["body", "input", 3]`. */
const PLACE = /\binput(?:\[|\.|",\s*(?:"list\[[^"]*",\s*)?)(\d+)\b/g;

/**
 * The kinds of items that an error names, by a place in the input, an id, or the kind, out of those
 * that it may be about.
 *
 * @param error its JSON
 * @param kinds types of items
 */
export function kindsNamedIn(
  error: string,
  sent: Uint8Array,
  kinds: ReadonlySet<string>,
): ReadonlySet<string> {
  const items = topField(sent, 'input', IDENTIFIED)?.items ?? [];
  const places = new Set(Array.from(error.matchAll(PLACE), ([, place]) => Number(place)));
  const named = new Set([...kinds].filter((kind) => error.includes(kind)));
  for (const [index, item] of items.entries()) {
    const type = stringIn(sent, item, 'type') ?? '';
    if (!kinds.has(type)) continue;
    const id = stringIn(sent, item, 'id') ?? '';
    if (places.has(index) || (id !== '' && error.includes(id))) named.add(type);
  }
  return named;
}
