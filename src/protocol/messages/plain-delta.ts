/** Events that only add text to a block: nearly all of a stream. */
import { PLAIN_TEXT, plainText } from '../answers/plain-text.ts';

/** Matches the JSON of a whole event. The API pads some events with spaces. */
const PLAIN = new RegExp(
  String.raw`^\{"type": ?"content_block_delta", ?"index": ?(\d{1,6}), ?"delta": ?` +
    String.raw`\{"type": ?"text_delta", ?"text": ?(${PLAIN_TEXT})\} *\}$`,
);

/** Text that an event adds. */
interface PlainDelta {
  /** Of its block. */
  readonly index: number;
  readonly text: string;
}

/**
 * The text that an event adds, if it does nothing else. Undefined if the event has to be parsed,
 * which takes several times longer.
 */
export function plainDelta(data: string | undefined): PlainDelta | undefined {
  const [, index, json] = PLAIN.exec(data ?? '') ?? [];
  return json === undefined ? undefined : { index: Number(index), text: plainText(json) };
}
