/** Top-level fields and tools, which all requests to a model have in common. */

import { bufferOf } from '../lib/bytes.ts';
import { asObject, isObject } from '../lib/json.ts';
import type { Tools } from '../memory/tokens/tokens.ts';
import type { OwnField } from './body.ts';
import { marksIn, OPENAI_MARKS } from './edits.ts';
import type { JsonSpan } from './json/outline.ts';
import { fieldOf, jsonOf, type Member, type Splice, textOf } from './json/spans.ts';
import { KeptContents } from './kept-contents.ts';
import type { Additions, CacheMarks, RequestSettings, WireMessage } from './model-request.ts';
import type { Protocol } from './protocol.ts';
import { findStoredName, type Opened, type StoredName } from './stored-names.ts';
import { leavesOurs } from './tool-choice.ts';
import { readTools } from './tools.ts';

/**
 * A body with more messages, items or tools is forwarded without edits
 * (docs/design.md#9-tokens-and-bytes).
 */
export const MOST_MESSAGES = 20_000;

const CACHE_KEY = 'prompt_cache_key';

export abstract class ModelBody {
  abstract readonly protocol: Protocol;
  abstract readonly conversationField: 'messages' | 'input';
  abstract readonly messages: readonly WireMessage[];
  readonly bytes: Uint8Array;
  readonly root: JsonSpan;
  readonly model: string | undefined;
  readonly tools: Tools | undefined;
  /** The contents of its messages. */
  protected readonly kept = new KeptContents();

  /** @param toolFields the fields that list tools */
  constructor(bytes: Uint8Array, root: JsonSpan, toolFields: readonly string[]) {
    this.bytes = bytes;
    this.root = root;
    const model = this.field('model');
    this.model = typeof model === 'string' ? model : undefined;
    this.tools = readTools(bytes, root, toolFields, MOST_MESSAGES);
  }

  get cacheMarks(): CacheMarks {
    return OPENAI_MARKS;
  }

  /** See `ModelRequest`. */
  get hidesUsage(): boolean {
    return false;
  }

  forgetContents(): void {
    this.kept.close();
  }

  keepContents(): void {
    this.kept.open();
  }

  get asksForm(): boolean {
    const { type = 'text' } = asObject(this.answerForm);
    return type !== 'text';
  }

  /** What the request says of the form of the answer's text. */
  protected abstract get answerForm(): unknown;
  /** See `RequestSettings`. */
  protected abstract get effort(): unknown;
  protected abstract get verbosity(): unknown;

  /** See `RequestSettings`. */
  protected get user(): unknown {
    return [this.field('safety_identifier'), this.field('user')];
  }

  get settings(): RequestSettings {
    const { effort, user } = this;
    return { effort, user, format: [this.answerForm, this.verbosity], key: this.field(CACHE_KEY) };
  }

  get hasTools(): boolean {
    const tools = fieldOf(this.root, 'tools')?.value;
    return tools?.kind === 'array' && tools.items?.length !== 0;
  }

  get leavesOurs(): boolean {
    return leavesOurs(this.field('tool_choice'));
  }

  storedName(opened: Opened): StoredName | undefined {
    return findStoredName(this.bytes, this.root, this.protocol, opened);
  }

  /** A prompt cache key of the caller's alone, if others share the account and none is added. */
  cacheKey({ shared, cacheKey }: Pick<Additions, 'shared' | 'cacheKey'>): Member[] {
    if (!shared || cacheKey !== undefined) return [];
    const key = this.field(CACHE_KEY);
    const own = shared.cacheKey(typeof key === 'string' ? key : undefined);
    return own === undefined ? [] : [{ key: CACHE_KEY, json: JSON.stringify(own) }];
  }

  /**
   * Puts a prompt cache key into a body that has none. It is first, so that a longer array still
   * begins with the bytes of the request before.
   */
  keySplices({ cacheKey }: Pick<Additions, 'cacheKey'>): Splice[] {
    const at = this.root.start + 1;
    if (cacheKey === undefined || fieldOf(this.root, CACHE_KEY)) return [];
    return [{ start: at, end: at, with: `"${CACHE_KEY}":${JSON.stringify(cacheKey)},` }];
  }

  get marks(): number {
    return marksIn(this.bytes, this.cacheMarks.most, this.cacheMarks.field);
  }

  /** See `ModelRequest`. */
  get markedUntil(): number | undefined {
    if (this.marks === 0) return undefined;
    const { field } = this.cacheMarks;
    if (isObject(this.field(field))) return this.messages.length - 1;
    const mark = new RegExp(`"${field}"\\s*:\\s*\\{`);
    const isMarked = (json: Uint8Array): boolean =>
      marksIn(json, 1, field) > 0 && mark.test(bufferOf(json).toString('latin1'));
    const last = this.messages.findLastIndex(({ json }) => isMarked(json));
    return last >= 0 || mark.test(bufferOf(this.bytes).toString('latin1')) ? last : undefined;
  }

  own(field: OwnField): unknown {
    return this.field(field) ?? undefined;
  }

  field(key: string): unknown {
    const span = fieldOf(this.root, key)?.value;
    return span ? jsonOf(this.bytes, span) : undefined;
  }

  /** The caller's tools; empty if the list is too long to be read. */
  protected listedTools(): readonly unknown[] {
    const list = fieldOf(this.root, 'tools')?.value;
    return list?.items ? (jsonOf(this.bytes, list) as unknown[]) : [];
  }

  /** A field's value; undefined if it is absent or null. */
  protected given(key: string): JsonSpan | undefined {
    const value = fieldOf(this.root, key)?.value;
    return value?.kind === 'literal' && textOf(this.bytes, value) === 'null' ? undefined : value;
  }

  /** A limit in tokens; undefined if the field is not a number above 0. */
  protected limit(key: string): number | undefined {
    const value = this.field(key);
    return typeof value === 'number' && value > 0 ? value : undefined;
  }
}
