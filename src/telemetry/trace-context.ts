/** W3C Trace Context (https://www.w3.org/TR/trace-context/): which trace a request belongs to. */

/** A span of another process, as the header `traceparent` names it. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all 0. */
  readonly traceId: string;
  /** 16 hexadecimal digits, not all 0. */
  readonly spanId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
}

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const SAMPLED = 1;
/** The id of the trace is random (Level 2 of the specification). */
const RANDOM = 2;

/** Undefined if the header is absent, or not valid: then a new trace begins (section 4.3). */
export function readTraceparent(header: string | null): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    TRACEPARENT.exec(header?.trim() ?? '') ?? [];
  // Version 00 has no further fields, and ff is forbidden.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId, flags };
}

/** The header in version 00. Of the flags it keeps those that this version knows. */
export function writeTraceparent({ traceId, spanId, flags }: TraceContext): string {
  const known = Number.parseInt(flags, 16) & (SAMPLED | RANDOM);
  return `00-${traceId}-${spanId}-${known.toString(16).padStart(2, '0')}`;
}

/** Whether the caller records the trace. */
export function isSampled({ flags }: Pick<TraceContext, 'flags'>): boolean {
  return (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
}

/** A new id of this many bytes in hexadecimal digits. Not all of them are 0. */
export function newId(bytes: 8 | 16): string {
  for (;;) {
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex');
    if (!/^0+$/.test(id)) return id;
  }
}

/** Whether a new trace is recorded: the same share of all ids, whoever asks. */
export function isWithin(share: number, traceId: string): boolean {
  return Number.parseInt(traceId.slice(-8), 16) < share * 2 ** 32;
}
