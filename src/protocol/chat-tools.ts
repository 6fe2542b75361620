/** Tools of ours beside the caller's, and what its rounds append to a body that went up. */
import type { Tools } from '../memory/tokens.ts';
import { scanBody } from './body.ts';
import type { ChatRequest } from './chat.ts';
import { fieldOf, type JsonSpan, type Splice, splice, textOf } from './spans.ts';

const encoder = new TextEncoder();

/** Whether a request has tools of the caller's. */
export function hasTools({ root }: ChatRequest): boolean {
  const tools = fieldOf(root, 'tools')?.value;
  return tools?.kind === 'array' && tools.items?.length !== 0;
}

/** Whether more tools may stand in a request: not beside the older `functions`, nor where `tools` is no list. */
export function takesTool(request: ChatRequest): boolean {
  const tools = givenField(request, 'tools');
  return (tools === undefined || tools.kind === 'array') && givenField(request, 'functions') === undefined;
}

/** A field's value; undefined where it is absent or null. */
function givenField({ bytes, root }: ChatRequest, key: string): JsonSpan | undefined {
  const value = fieldOf(root, key)?.value;
  return value?.kind === 'literal' && textOf(bytes, value) === 'null' ? undefined : value;
}

/** The names of the caller's tools: functions, and custom ones. */
export function toolNames(request: ChatRequest): ReadonlySet<string> {
  const tools = request.field('tools');
  if (!Array.isArray(tools)) return new Set();
  const names: unknown[] = tools.flatMap((tool) => [tool?.function?.name, tool?.custom?.name]);
  return new Set(names.filter((name) => typeof name === 'string'));
}

/** The caller's tools and ours, for counting, where `takesTool` says so. @param definitions of ours, each as its JSON */
export function toolsWith(tools: Tools | undefined, definitions: readonly string[]): Tools {
  const definition = definitions.join(',');
  return {
    count: (tools?.count ?? 0) + definitions.length,
    bytes: (tools?.bytes ?? 0) + encoder.encode(definition).length,
    digest: `${tools?.digest ?? ''}+${definition}`,
    text: () => (tools?.count ? `${tools.text().slice(0, -1)},${definition}]` : `[${definition}]`),
  };
}

/** Appends tools behind the caller's. @param definitions each as its JSON */
export function toolSplice({ root }: ChatRequest, definitions: readonly string[]): Splice {
  const definition = definitions.join(',');
  const tools = fieldOf(root, 'tools')?.value;
  if (tools?.kind === 'array') {
    const comma = tools.items?.length === 0 ? '' : ',';
    return { start: tools.end - 1, end: tools.end - 1, with: `${comma}${definition}` };
  }
  if (tools) return { start: tools.start, end: tools.end, with: `[${definition}]` };
  return { start: root.end - 1, end: root.end - 1, with: `,"tools":[${definition}]` };
}

/** A body that went up, with messages appended: all that was sent before stays as it was, and in the upstream's cache. */
export function appendMessages(body: Uint8Array, messages: readonly object[]): Uint8Array {
  const scanned = scanBody(body, new Map());
  const array = scanned.ok ? fieldOf(scanned.value, 'messages')?.value : undefined;
  if (!array) throw new Error('a body without messages was sent');
  const end = array.end - 1;
  const json = messages.map((message) => `,${JSON.stringify(message)}`).join('');
  return splice(body, { start: 0, end: body.length }, [{ start: end, end, with: json }]);
}
