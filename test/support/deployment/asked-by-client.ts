/** A request by the `openai` client, in the protocol of a block of tests. */
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import type { ResponseCreateParams } from 'openai/resources/responses/responses';
import type { Report } from '../../../src/memory/plan/report.ts';
import type { RecordedRequest } from '../../../tools/upstream/recorded-request.ts';
import type { Deployment } from './deployment.ts';
import { collect } from './event-stream.ts';

type Json = Record<string, unknown>;

export interface AskedByClient {
  readonly memory: Report;
  /** What the upstream was asked for it. */
  readonly asked: readonly RecordedRequest[];
  /** The answer, or the events of its stream. */
  readonly parts: readonly Json[];
}

/** @param fields of a chat request that asks for its report, streaming or not */
export async function askByClient(
  deployment: Deployment,
  apiKey: string,
  fields: Json,
): Promise<AskedByClient> {
  const before = deployment.chats().length;
  const client = deployment.client({ apiKey });
  const body = deployment.protocol.body(fields);
  const data =
    deployment.protocol.name === 'chat'
      ? await client.chat.completions.create(fields as unknown as ChatCompletionCreateParams)
      : await client.responses.create(body as unknown as ResponseCreateParams);
  const parts = (Symbol.asyncIterator in data ? await collect(data as never) : [data]) as Json[];
  const memory = parts.map((part) => part.memory ?? (part.response as Json)?.memory).find(Boolean);
  return { memory: memory as Report, asked: deployment.chats().slice(before), parts };
}
