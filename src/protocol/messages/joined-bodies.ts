/**
 * Joins several JSON answers of a model into the one that the caller sees, by the rules of
 * `joined-streams.ts`. Blocks keep their bytes.
 */
import { asObject, isObject, parseJson } from '../../lib/json.ts';
import type { JoinedBodies, SaidAnswer } from '../answers/answer-format.ts';
import { CountedAnswers } from '../answers/joined-answers.ts';
import type { ToolTurn } from '../answers/tool-turn.ts';
import { MESSAGES_USAGE, UsageTally } from '../answers/usage.ts';
import type { JsonSpan, Outline } from '../json/outline.ts';
import { fieldOf, jsonOf, scanObject, textOf, valueIn, withMembers } from '../json/spans.ts';
import { type AnswerBlock, NOTHING_SAID, waitsForCaller } from './answer-blocks.ts';
import { BlockSorter, isSaid, isWhole, messageJson, turnOf } from './calls.ts';
import { FIELDS, JoinedFields } from './joined-fields.ts';

const MESSAGE: Outline = { fields: new Map([['content', { items: {} }]]), others: {}, most: 1_000 };

export class JoinedMessagesBodies extends CountedAnswers implements JoinedBodies {
  protected readonly tally = new UsageTally(MESSAGES_USAGE);
  /** The JSON of the caller's blocks of all answers so far. */
  private readonly blocks: string[] = [];
  /** What names the first answer, as JSON. */
  private first: { readonly id: string; readonly model: string } | undefined;
  private stop: unknown;
  private readonly fields = new JoinedFields();

  get said(): SaidAnswer | undefined {
    if (!isSaid(this.stop)) return undefined;
    return { json: messageJson(this.blocks), isVerbatim: true };
  }

  take(body: Uint8Array): ToolTurn | Uint8Array {
    const message = scanObject(body, MESSAGE);
    if (!message) return body;
    const content = fieldOf(message, 'content');
    if (!content?.items) return body;
    const field = (key: string): unknown => valueIn(body, message, key);
    const usage = field('usage');
    if (isObject(usage)) this.tally.count(usage);
    const { fields } = this;
    fields.take(Object.fromEntries(FIELDS.map((key) => [key, field(key)])));
    const newSorter = () => new BlockSorter(this.names, this.mayAnswer, this.signs);
    const sorter = newSorter();
    const blocks = content.items.map((span) => asObject(jsonOf(body, span)));
    const stop = field('stop_reason');
    // Some gateways give no reason.
    const mayGoOn = isWhole(stop ?? 'end_turn');
    sorter.hidesTexts = this.withholds && mayGoOn && newSorter().areOurs(blocks);
    const shown = content.items.filter((_, index) => sorter.shows(blocks[index] ?? {}));
    this.blocks.push(...shown.map((span) => textOf(body, span)));
    if (sorter.isOurs && mayGoOn) {
      this.first ??= { id: JSON.stringify(field('id')), model: JSON.stringify(field('model')) };
      this.goOn();
      const read = content.items.map((span) => readBlock(body, span));
      const turn = turnOf(read, sorter, fields.container);
      fields.begin();
      return turn;
    }
    this.stop = stop;
    const seen = () => this.blocks.map((block) => asObject(parseJson(block)));
    if (sorter.saysNothing(seen, stop)) this.blocks.push(JSON.stringify(NOTHING_SAID));
    if (!this.first && shown.length === blocks.length) return body;
    const members = [
      { key: 'content', json: `[${this.blocks.join(',')}]` },
      ...Object.entries(this.first ?? {}).map(([key, json]) => ({ key, json })),
      ...(this.first
        ? Object.entries(fields.joined).map(([key, of]) => ({ key, json: JSON.stringify(of) }))
        : []),
      ...(this.first && usage ? [{ key: 'usage', json: JSON.stringify(this.tally.forCaller) }] : []),
      ...(sorter.hidesCalls && stop === 'tool_use' ? [{ key: 'stop_reason', json: '"end_turn"' }] : []),
    ];
    return withMembers(body, message, members);
  }
}

function readBlock(body: Uint8Array, span: JsonSpan): AnswerBlock {
  const block = asObject(jsonOf(body, span));
  return {
    block,
    json: textOf(body, span),
    input: waitsForCaller(block) ? JSON.stringify(block.input ?? {}) : undefined,
  };
}
