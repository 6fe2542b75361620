/** Tags that close no open one, and those that stay open, of a page of HTML. */
export function unbalancedTags(html: string): { readonly wrong: string[]; readonly open: string[] } {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, end, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (VOID.has(name)) continue;
    if (end === '') open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return { wrong, open };
}

/** Elements without an end (https://html.spec.whatwg.org/#void-elements). */
const VOID: ReadonlySet<string> = new Set(['br', 'input', 'link', 'meta', 'wbr']);
