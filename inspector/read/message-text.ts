/** A message of chat as text: what it says, and the calls that it makes. */

export interface MessageText {
  readonly role: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Images that the caller has sent as data, as URLs of their bytes. */
  readonly images: readonly string[];
}

/** Takes any JSON value, since an array that is pasted may hold anything. */
export function messageText(message: unknown): MessageText {
  // Several items of the Responses API are one message.
  if (Array.isArray(message)) return joined(message.map(messageText));
  if (!isObject(message)) return { role: '?', text: asText(message), calls: [], images: [] };
  const { role, content, tool_calls: calls, type } = message;
  return {
    role: asWord(role ?? type),
    text: contentText(content ?? (role === undefined ? message : null)),
    calls: Array.isArray(calls) ? calls.map(callOf) : [],
    images: Array.isArray(content) ? content.flatMap((part) => imageIn(part) ?? []) : [],
  };
}

function joined(items: readonly MessageText[]): MessageText {
  return {
    role: items.find(({ role }) => role === 'assistant')?.role ?? items[0]?.role ?? '?',
    text: items
      .map(({ text }) => text)
      .filter((text) => text !== '')
      .join('\n'),
    calls: items.flatMap(({ calls }) => calls),
    images: items.flatMap(({ images }) => images),
  };
}

function contentText(content: unknown): string {
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) return asText(content);
  return content.map(partText).join('\n');
}

function partText(part: unknown): string {
  if (!isObject(part)) return asText(part);
  if (typeof part.text === 'string') return part.text;
  if (typeof part.refusal === 'string') return part.refusal;
  const image = imageIn(part);
  if (image !== undefined) return `(an image of ${Math.ceil((image.length * 3) / 4_096)} kB)`;
  const data = JSON.stringify(part);
  return data.length <= LONGEST_PART ? data : `${data.slice(0, LONGEST_PART)}… (${data.length} characters)`;
}

/** Pixels alone: an SVG may hold a script. Nothing is loaded from elsewhere. */
const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

/** The image of a part of any protocol; undefined if there is none, or its bytes are elsewhere. */
function imageIn(part: unknown): string | undefined {
  if (!isObject(part)) return undefined;
  const { image_url: named, source } = part;
  const url = isObject(named) ? named.url : named;
  const { media_type: type, data } = isObject(source) ? source : {};
  const address = url ?? (source === undefined ? undefined : `data:${type};base64,${data}`);
  return typeof address === 'string' && IMAGE_DATA.test(address) ? address : undefined;
}

/** In characters. Images and files are parts too. */
const LONGEST_PART = 400;

function callOf(call: unknown): MessageText['calls'][number] {
  const { id, function: called, custom } = isObject(call) ? call : {};
  const named = isObject(called) ? called : isObject(custom) ? custom : {};
  return {
    id: asWord(id),
    name: asWord(named.name),
    arguments: asText(named.arguments ?? named.input ?? ''),
  };
}

function asWord(value: unknown): string {
  return typeof value === 'string' ? value : '?';
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
