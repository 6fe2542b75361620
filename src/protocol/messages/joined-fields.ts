/**
 * What answers of several rounds report beside their blocks and usage: the container that their
 * code ran in, and what the API has changed of what it was sent
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool,
 * …/build-with-claude/context-editing).
 */
import { asList, asObject, isObject, type JsonObject } from '../../lib/json.ts';

/** Fields of a message; in a stream, of `message_start`, `message_delta` and its `delta`. */
export const FIELDS = ['container', 'context_management', 'input_transformations'] as const;

type Joined = Partial<Record<(typeof FIELDS)[number], unknown>>;

export class JoinedFields {
  /** By answer, the last one being the current one. */
  private readonly answers: Joined[] = [{}];

  /** Takes fields of the current answer. A stream has them in several events; null says nothing. */
  take(fields: JsonObject): void {
    const current = this.answers.at(-1);
    for (const name of FIELDS) if (current && (fields[name] ?? null) !== null) current[name] = fields[name];
  }

  begin(): void {
    this.answers.push({});
  }

  /** The id of the container that the next round must name; undefined if no code has run. */
  get container(): string | undefined {
    const { id } = asObject(this.all('container').at(-1));
    return typeof id === 'string' ? id : undefined;
  }

  /**
   * The fields of the answer that the caller sees, as far as any round has reported them.
   *
   * Each round sends again what the caller has sent, so the same change may be reported several
   * times. One of a block has the block's path, and is reported once; an edit of the API counts
   * each time.
   */
  get joined(): Joined {
    const managed = this.all('context_management').filter(isObject);
    const edits = managed.flatMap(({ applied_edits: applied }) => asList(applied));
    const changes = this.all('input_transformations').flatMap(asList);
    const distinct = new Map(changes.map((change) => [JSON.stringify(change), change]));
    const container = this.all('container').at(-1);
    return {
      ...(container === undefined ? {} : { container }),
      ...(managed.length === 0 ? {} : { context_management: { ...managed.at(-1), applied_edits: edits } }),
      ...(changes.length === 0 ? {} : { input_transformations: [...distinct.values()] }),
    };
  }

  private all(name: (typeof FIELDS)[number]): unknown[] {
    return this.answers.flatMap(({ [name]: value }) => (value === undefined ? [] : [value]));
  }
}
