/** The reference as the Worker makes it, for tests that need no Worker. */
import { version } from '../../../package.json';
import { modes } from '../../../src/memory/modes/table.ts';
import { injectionSchema } from '../../../src/memory/strategy/injection.ts';
import { blocksSchema } from '../../../src/memory/strategy/memory-blocks.ts';
import { type ApiDocument, type ApiParts, apiDocument } from '../../../src/reference/document.ts';
import { heldSummarySchema } from '../../../src/request/sent-summary.ts';
import { sentOverviewSchema } from '../../../src/routes/conversations/sent-overview.ts';

export const PARTS: ApiParts = {
  version,
  modes,
  memoryInjection: injectionSchema,
  memoryBlocks: blocksSchema,
  memorySummary: heldSummarySchema,
  sentMemory: sentOverviewSchema(),
};

/** The document as it is sent. */
export function sentDocument(): ApiDocument {
  return JSON.parse(JSON.stringify(apiDocument(PARTS))) as ApiDocument;
}
