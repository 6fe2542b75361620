/** Chunks that only add text to an answer: nearly all of a stream. */
import { PLAIN_TEXT, plainText } from '../answers/plain-text.ts';

const MEMBER = `"(?:id|object|model|service_tier|system_fingerprint|obfuscation)":(?:${PLAIN_TEXT}|null)`;

/** Matches the JSON of a whole chunk with one choice, of which the delta is text alone. */
const PLAIN = new RegExp(
  [
    String.raw`^\{(?:(?:${MEMBER}|"created":[1-9]\d*),)*`,
    String.raw`"choices":\[\{"index":0,"delta":\{"content":(${PLAIN_TEXT})\},(?:"logprobs":null,)?"finish_reason":null\}\]`,
    String.raw`(?:,(?:${MEMBER}|"usage":null))*\}$`,
  ].join(''),
);

/**
 * The text that a chunk adds to the first choice, if it does nothing else. Undefined if the chunk
 * has to be parsed, which takes several times longer.
 */
export function plainDelta(data: string | undefined): string | undefined {
  const json = PLAIN.exec(data ?? '')?.[1];
  return json === undefined ? undefined : plainText(json);
}
