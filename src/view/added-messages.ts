/** The messages that are added to a view: memory blocks, then cross-session memory. */
import type { Report } from '../memory/plan/report.ts';
import type { InjectedMessage } from '../protocol/model-request.ts';
import type { Call } from '../request/call.ts';
import { type Injected, injectedWith, withInjection } from './inject.ts';
import type { MadeView } from './made-view.ts';
import { blocksFor, withBlocks } from './memory-blocks.ts';

export interface AddedMessages {
  /** After the preamble, in this order. */
  readonly messages: readonly InjectedMessage[];
  readonly tokens: number;
  /** Adds the messages to a report. */
  addTo(report: Report): Report;
}

/** @param frozen the block of cross-session memory before a move of the frontier */
export async function addedMessages(call: Call, made: MadeView, frozen: Injected): Promise<AddedMessages> {
  const [blocks, injected] = await Promise.all([blocksFor(call, made), injectedWith(made.report, frozen)]);
  return {
    messages: [blocks.message, injected.message].filter((message) => message !== undefined),
    tokens: (blocks.tokens ?? 0) + (injected.tokens ?? 0),
    addTo: (report) => withBlocks(withInjection(report, injected), blocks),
  };
}
