/** An agent whose requests are planned without HTTP and storage: rules that no route changes. */

import { headers as reportHeaders } from '../../../src/listeners/headers.ts';
import { type ModelTables, termsOf } from '../../../src/memory/models/terms.ts';
import type { MemoryStrategyRequest } from '../../../src/memory/modes/table.ts';
import type { Report } from '../../../src/memory/plan/report.ts';
import { short, type Viewed, viewOf } from '../laws/view-of.ts';
import type { Sent } from './agent-caller.ts';
import { type Message, tools } from './agent-run.ts';

const NO_TABLES: ModelTables = { modelPrices: [], modelWindows: [], promptCache: true, ownModels: false };

/** The same fields as of `AgentCaller`, of which a plan knows no others. */
export interface PlannedFields {
  readonly memory_strategy: MemoryStrategyRequest;
  readonly model?: string;
  readonly max_completion_tokens?: number;
}

/** Plans the requests that an `AgentCaller` sends over chat. */
export class PlannedAgent {
  private readonly strategy: MemoryStrategyRequest;
  private readonly fields: object;
  private readonly options: Parameters<typeof viewOf>[2];

  /** @param tables what the deployer says of models */
  constructor({ memory_strategy, model = 'gpt-4.1', ...fields }: PlannedFields, tables = NO_TABLES) {
    this.strategy = memory_strategy;
    this.fields = { model, tools, ...fields };
    // Outputs have no digests by a model, as where no strategy asks for them.
    this.options = { prices: termsOf(model, tables).prices, words: short, digestOf: () => undefined };
  }

  send(messages: readonly Message[]): Sent {
    const viewed = viewOf({ ...this.fields, messages }, this.strategy, this.options);
    const rawBody = Buffer.from(viewed.bytes);
    const body = JSON.parse(rawBody.toString());
    const memory = reportOf(viewed, body.messages);
    const seen = { method: 'POST', path: '/v1/chat/completions', headers: {}, rawBody, body, closed: false };
    return { messages, memory, headers: headersOf(memory), answer: '', seen, view: body.messages };
  }

  /** Plans the array as it grows. @param lengths the number of messages in each request */
  play(messages: readonly Message[], lengths: readonly number[]): Sent[] {
    return lengths.map((length) => this.send(messages.slice(0, length)));
  }
}

/** With the summary that the view shows. */
function reportOf({ report }: Viewed, view: readonly Message[]): Report {
  const shown = /<session_summary ref=\\"(ref_[a-z2-7]{26})\\" covers=\\"(\d+)-(\d+)\\">/.exec(
    JSON.stringify(view.slice(0, 3)),
  );
  if (!shown) return report;
  const covers = [Number(shown[2]), Number(shown[3])] as const;
  const summary = { status: 'completed', ref: shown[1], covers } as unknown as NonNullable<Report['summary']>;
  return { ...report, summary };
}

function headersOf(report: Report): Headers {
  const headers = new Headers();
  const scope = { timings: '' } as unknown as Parameters<typeof reportHeaders>[0];
  reportHeaders(scope, 'chat')?.begins?.({ headers } as never, report);
  return headers;
}
