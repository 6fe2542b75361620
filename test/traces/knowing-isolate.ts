/** An isolate that knows the arrays of earlier requests, and continues their plans. */
import { isDeepStrictEqual } from 'node:util';
import type { MemoryStrategyRequest } from '../../src/memory/modes/table.ts';
import { readChatRequest } from '../../src/protocol/chat/request.ts';
import { KnownArrays } from '../../src/protocol/known-arrays.ts';
import { BELIEFS } from '../../src/request/beliefs.ts';
import { type Viewed, type ViewOptions, viewOfRequest } from '../support/laws/view-of.ts';

export class KnowingIsolate {
  private readonly arrays = new KnownArrays(BELIEFS.arrays.bytes, 0).of('a tenant');

  /** See `viewOf`. */
  viewOf(bytes: Uint8Array, strategy: MemoryStrategyRequest, options: ViewOptions): Viewed {
    const found = this.arrays.find(bytes, 'chat');
    const read = readChatRequest(bytes, found);
    if (!read.ok) throw new Error(read.reason.message);
    const viewed = viewOfRequest(read.value, strategy, options);
    this.arrays.keep(read.value, found);
    return viewed;
  }
}

/** How a plan differs from the one of an isolate that has seen nothing before. */
export function otherPlan(fresh: Viewed, known: Viewed): string[] {
  if (Buffer.compare(fresh.bytes, known.bytes) !== 0) return ['the known array gave another view'];
  const isSame = isDeepStrictEqual(planned(fresh), planned(known));
  return isSame ? [] : ['the known array gave another plan or report'];
}

function planned({ plan, report, view }: Viewed): unknown {
  const { ahead, history: _, ...others } = plan;
  return [others, ahead?.(), report, view];
}
