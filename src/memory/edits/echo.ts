/** Precis's placeholders that come back as content. */

import type { RefNamer } from '../conversation/refs.ts';
import { type CompactSettings, LONGEST_PREVIEW } from '../strategy/fields.ts';
import type { TokenCounter } from '../tokens/tokens.ts';
import { type Marker, writeMarker } from './placeholder.ts';
import { MOST_TOKENS } from './preview.ts';

interface EchoContext {
  readonly counter: TokenCounter;
  readonly refs: RefNamer | undefined;
  readonly keep: boolean;
}

/** In tokens. A marker with more text after it than twice the longest preview is not Precis's. */
const LONGEST_ECHO = 2 * LONGEST_PREVIEW;
/**
 * The same for an offloaded output, with its head, its tail and a preview of up to four times the
 * length.
 */
const LONGEST_OFFLOADED = 5 * LONGEST_PREVIEW;

/**
 * Whether the content is one of our placeholders, sent back: for this call, and with a ref of this
 * tenant. If no ref can be checked, because there is no tenant or the strategy writes none, the
 * form and the call are enough.
 */
export function isEcho(
  facts: { readonly marker: Marker | undefined; readonly tokens: number },
  labels: { readonly tool: string; readonly call: string },
  { compact_preview_tokens: longestShown = MOST_TOKENS }: CompactSettings,
  context: EchoContext,
): boolean {
  const { marker } = facts;
  if (!marker || marker.tool !== labels.tool || marker.call !== labels.call) return false;
  const preview = facts.tokens - context.counter.marker(writeMarker(marker));
  const longest = marker.reason === 'offloaded' ? LONGEST_OFFLOADED : LONGEST_ECHO;
  if (marker.ref !== undefined && preview <= longest) return context.refs?.owns(marker.ref) ?? true;
  const writesRefs = context.keep && context.refs !== undefined;
  return marker.ref === undefined && !writesRefs && preview <= longestShown;
}
