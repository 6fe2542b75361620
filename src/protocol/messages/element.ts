/** One element of `messages`, in the caller's bytes. */
import type { Role } from '../../memory/conversation/message.ts';
import { marksIn } from '../edits.ts';
import type { JsonSpan } from '../json/outline.ts';
import { fieldOf, stringIn } from '../json/spans.ts';
import { Block, MARK_FIELD, MESSAGES_MARKS } from './block.ts';

/** Where the blocks of a message are in its element. */
export interface Part {
  readonly role: Role;
  readonly from: number;
  readonly end: number;
}

/**
 * Uses and results of the API's tools whose counterpart is in another element: while a call of the
 * caller's waits for its result, a tool of the API does too, and it may call the caller's tools
 * itself (https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling).
 */
export interface HostedParts {
  /** Their ids. */
  readonly uses: readonly string[];
  /** The ids of their uses. */
  readonly results: readonly string[];
}

/** Facts about an element, whatever is before it (see `MessageFacts`). */
export interface ElementFacts {
  /** Null if it is not a string. */
  role?: string | null;
  /** See `Element.marks`. */
  marks?: number;
  /** Its messages: at least one. */
  parts?: readonly Part[];
  hosted?: HostedParts;
}

export class Element {
  readonly body: Uint8Array;
  readonly span: JsonSpan;
  readonly facts: ElementFacts;
  readonly content: JsonSpan | undefined;
  private read: readonly Block[] | undefined;

  /** @param facts of an element with the same bytes */
  constructor(body: Uint8Array, span: JsonSpan, facts: ElementFacts = {}) {
    this.body = body;
    this.span = span;
    this.facts = facts;
    this.content = fieldOf(span, 'content');
  }

  get role(): string | undefined {
    this.facts.role ??= stringIn(this.body, this.span, 'role') ?? null;
    return this.facts.role ?? undefined;
  }

  /** How many messages it is. */
  get messages(): number {
    return this.facts.parts?.length ?? 1;
  }

  /** Undefined if the content is no list. Most elements of a known array are never opened. */
  get blocks(): readonly Block[] | undefined {
    if (this.content?.kind !== 'array') return undefined;
    this.read ??= this.content.items?.map((block) => new Block(this.body, block));
    return this.read;
  }

  /** Whether the content is a list with more blocks than are read. */
  get hasTooManyBlocks(): boolean {
    return this.content?.kind === 'array' && !this.content.items;
  }

  /** Marks of the prompt cache, or texts that look like one: at most as many as are allowed. */
  get marks(): number {
    const { start, end } = this.span;
    this.facts.marks ??= marksIn(this.body.subarray(start, end), MESSAGES_MARKS.most, MARK_FIELD);
    return this.facts.marks;
  }
}
