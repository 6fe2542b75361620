/**
 * Parts without their cache marks, as they are stored and counted. So the ref of a content, and
 * what its removal frees, stay the same when a client moves its marks.
 */
import { cutMembers, elementsOf, membersOf, type Splice, spliceAll } from './json/spans.ts';

/**
 * Fields of a part that set a cache breakpoint: Anthropic's, which gateways also take in chat, and
 * OpenAI's.
 */
export const BREAKPOINTS = ['cache_control', 'prompt_cache_breakpoint'] as const;

/** @param json a list of parts */
export function unmarked(json: string): string {
  if (!BREAKPOINTS.some((key) => json.includes(`"${key}"`))) return json;
  const bytes = new TextEncoder().encode(json);
  const cuts: Splice[] = [];
  for (const part of elementsOf(bytes, { start: 0, end: bytes.length })) {
    if (part.kind !== 'object') continue;
    const members = [...membersOf(bytes, part)];
    cuts.push(...cutMembers(members, (index) => isBreakpoint(members[index]?.key ?? '')));
  }
  return new TextDecoder().decode(spliceAll(bytes, cuts));
}

/** @param json one part */
export function unmarkedPart(json: string): string {
  return unmarked(`[${json}]`).slice(1, -1);
}

export function isBreakpoint(key: string): boolean {
  return (BREAKPOINTS as readonly string[]).includes(key);
}
