/**
 * The content blocks of an answer
 * (https://platform.claude.com/docs/en/build-with-claude/streaming).
 */
import { asString, isObject, type JsonObject, parseObject } from '../../lib/json.ts';

/** A block, and the input of its call as the model wrote it. */
export interface AnswerBlock {
  readonly block: JsonObject;
  /** The whole block, as it is sent back: numbers keep their digits. */
  readonly json: string;
  /** JSON, if the model kept to the format. Undefined for other blocks. */
  readonly input: string | undefined;
}

/** Whether the model waits for the caller's answer. Tools of the API answer in the same message. */
export function waitsForCaller({ type }: JsonObject): boolean {
  return type === 'tool_use';
}

/**
 * Added to an answer that would have nothing, or end with thinking, since all that it says after it
 * are Precis's calls that are not answered. Upstreams refuse such a message in a history.
 */
export const NOTHING_SAID: JsonObject = {
  type: 'text',
  text: 'No answer: the model only called tools of Precis, and this response has no results of them.',
};

/** Whether upstreams refuse the block in a history: a text of white space alone. */
export function isBlank({ type, text }: JsonObject): boolean {
  return type === 'text' && asString(text).trim() === '';
}

/** Deltas that give a member its value, rather than add to it, by the member. */
const GIVEN: ReadonlySet<string> = new Set(['signature', 'encrypted_content']);

/** A block, built from the deltas of a stream. */
export class GatheredBlock implements AnswerBlock {
  readonly block: JsonObject;
  /** The input, as far as its deltas have come. */
  private written: string | undefined;

  /** @param start of `content_block_start` */
  constructor(start: JsonObject) {
    this.block = { ...start };
  }

  get input(): string | undefined {
    return waitsForCaller(this.block) ? (this.written ?? JSON.stringify(this.block.input ?? {})) : undefined;
  }

  get json(): string {
    const { block, written } = this;
    if (written === undefined) return JSON.stringify(block);
    const input = parseObject(written) ? written : JSON.stringify(block.input ?? {});
    const members = Object.entries({ ...block, input }).map(
      ([key, value]) => `${JSON.stringify(key)}:${key === 'input' ? input : JSON.stringify(value)}`,
    );
    return `{${members.join(',')}}`;
  }

  /** Lets go of what it says, but for its beginning. */
  forget(): void {
    this.written = undefined;
    const { type, text } = this.block;
    for (const key of Object.keys(this.block)) delete this.block[key];
    Object.assign(this.block, { type, ...(typeof text === 'string' ? { text: text.slice(0, 1) } : {}) });
  }

  addText(text: string): void {
    this.block.text = asString(this.block.text) + text;
  }

  add({ type: _, partial_json, citation, ...delta }: JsonObject): void {
    if (typeof partial_json === 'string') this.written = (this.written ?? '') + partial_json;
    if (isObject(citation)) this.addCitation(citation);
    for (const [key, value] of Object.entries(delta)) {
      const known = this.block[key];
      const adds = typeof known === 'string' && typeof value === 'string' && !GIVEN.has(key);
      this.block[key] = adds ? known + value : value;
    }
  }

  private addCitation(citation: JsonObject): void {
    const known = this.block.citations;
    // Appends in place; a new list for each delta would be quadratic.
    if (Array.isArray(known)) known.push(citation);
    else this.block.citations = [citation];
  }
}
