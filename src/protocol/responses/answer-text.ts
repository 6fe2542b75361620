/** Extracts the text of a response that closes a round: complete, and without open calls. */
import { asObject, asObjects, asString, parseJson } from '../../lib/json.ts';
import type { AnswerGatherer, SaidAnswer } from '../answers/answer-format.ts';
import type { Block, Frame } from '../answers/sse.ts';
import { waitsForCaller } from './calls.ts';
import { isMarked } from './reasoning.ts';
import { LAST, lastEvent } from './stream.ts';

/** Data that matches is parsed to make sure. */
const ENDED = /"response\.output_item\.done"/;

export class StreamedResponse implements AnswerGatherer {
  private last: Record<string, unknown> | undefined;
  private readonly items = new Map<unknown, unknown>();

  skip({ text }: Block): boolean {
    return !ENDED.test(text) && !LAST.test(text);
  }

  push(frame: Frame): void {
    if (ENDED.test(frame.data ?? '')) this.addItem(asObject(frame.json));
    const last = lastEvent(frame)?.response;
    if (last) this.last ??= asObject(last);
  }

  /**
   * The text; undefined if the answer is incomplete, calls tools or is empty. Codex' backend and
   * some gateways list no items in the last event: then those that were streamed count.
   */
  text(): string | undefined {
    const output = this.last?.output;
    const isListed = Array.isArray(output) && output.length > 0;
    return textOf(isListed ? this.last : { ...this.last, output: [...this.items.values()] });
  }

  private addItem({ type, item }: Record<string, unknown>): void {
    // An item that comes twice counts once.
    if (type === 'response.output_item.done') this.items.set(asObject(item).id ?? this.items.size, item);
  }
}

export function answerText(body: Uint8Array): string | undefined {
  return textOf(parseJson(new TextDecoder().decode(body)));
}

/** How a response has ended. */
export interface Ending {
  readonly status: unknown;
  /** Its `incomplete_details`. */
  readonly details: unknown;
}

/** Whether callers append the items of a response to their array. Some upstreams name no status. */
function isSaid({ status, details }: Ending): boolean {
  const isCut = status === 'incomplete' && asObject(details).reason === 'max_output_tokens';
  return (status ?? 'completed') === 'completed' || isCut;
}

/**
 * The items of a caller's answer as they arrive back; undefined if the answer is not complete. An
 * item that is marked is cut out of the request that brings it back.
 */
export function saidItems(items: readonly unknown[], ending: Ending): SaidAnswer | undefined {
  if (!isSaid(ending)) return undefined;
  const others = items.filter((item) => !isMarked(item));
  return { json: others.map((item) => JSON.stringify(item)).join(','), isVerbatim: true };
}

function textOf(response: unknown): string | undefined {
  const { status, incomplete_details: details, output } = asObject(response);
  if (typeof status !== 'string' || !isSaid({ status, details }) || !Array.isArray(output)) return undefined;
  if (output.some((item) => waitsForCaller(asObject(item)))) return undefined;
  const messages = asObjects(output).filter(({ type }) => type === 'message');
  const parts = messages.flatMap(({ content }) => asObjects(content));
  const text = parts.map((part) => asString(part.text)).join('');
  return text === '' ? undefined : text;
}
