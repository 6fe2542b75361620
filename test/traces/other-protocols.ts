/** A recorded conversation in the Responses API and in Messages, request by request. */
import { isDeepStrictEqual } from 'node:util';
import type { MemoryStrategyRequest } from '../../src/memory/modes/table.ts';
import type { MessagesRequest } from '../../src/protocol/messages/request.ts';
import type { ModelRequest } from '../../src/protocol/model-request.ts';
import { readResponsesRequest } from '../../src/protocol/responses/request.ts';
import { messagesBody } from '../../tools/upstream/blocks.ts';
import { chatBody, itemsOf, messagesOf, responsesBody } from '../../tools/upstream/items.ts';
import { responsesViolations } from '../../tools/upstream/strict-responses.ts';
import { asBlocksSayIt } from '../support/conversations/messages.ts';
import { requestsOf, type Trace } from '../support/conversations/traces.ts';
import {
  brokenInMessages,
  brokenPrefixInMessages,
  otherThanInChat,
  parsed,
  viewInMessages,
} from '../support/laws/in-messages.ts';
import {
  bodyOf,
  messagesOf as sentIn,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewOfRequest,
} from '../support/laws/view-of.ts';

type Json = Record<string, unknown>;

/** What a replay has found. */
export interface Replayed {
  readonly viewed: Viewed<ModelRequest>;
  readonly broken: readonly string[];
}

type Replay = (trace: Trace, strategy: MemoryStrategyRequest, options: ViewOptions) => Generator<Replayed>;

/** Answers take so much of the window in every protocol. */
const ANSWER = { max_tokens: 1_000 };

/** A user message after results is in their message. */
const FORM = { merges: true };

/** The views of a conversation in Messages. The last one is compared with chat's. */
export const inMessages: Replay = function* (trace, strategy, options) {
  const said = sayable(trace);
  let earlier: Viewed<MessagesRequest> | undefined;
  let last: Json | undefined;
  for (const chat of requestsOf(said)) {
    last = parsed(chat);
    const viewed = viewInMessages(messagesBody({ ...last, ...ANSWER }, FORM), strategy, options);
    const prefix = earlier ? brokenPrefixInMessages(earlier, viewed) : [];
    yield { viewed, broken: [...brokenInMessages(viewed), ...prefix] };
    earlier = viewed;
  }
  if (!last) return;
  const [plain, given] = asInAll(strategy, options);
  // Tools weigh the same where they are the same.
  const { tools: _, ...body } = { ...last, ...ANSWER } as Json;
  const chat = viewOf(body, plain, given);
  const viewed = viewInMessages(messagesBody(body, FORM), plain, given);
  yield { viewed, broken: otherThanInChat(viewed, chat, FORM) };
};

/** The same in the Responses API. */
export const inResponses: Replay = function* (trace, strategy, options) {
  const said = sayable(trace);
  let earlier: { readonly viewed: Viewed<ModelRequest>; readonly input: readonly Json[] } | undefined;
  let last: Json | undefined;
  for (const chat of requestsOf(said)) {
    last = parsed(chat);
    const viewed = viewInResponses(responsesBody(last), strategy, options);
    const sent = bodyOf(viewed.bytes);
    const input = sent.input as readonly Json[];
    const isKept = earlier?.input.every((item, index) => isDeepStrictEqual(item, input[index])) ?? true;
    const isValid = responsesViolations(bodyOf(viewed.request.bytes), { lenientFields: true }).length === 0;
    yield {
      viewed,
      broken: [
        ...(isValid ? responsesViolations(sent, { lenientFields: true }) : []),
        ...(isKept || viewed.report.frontier.moved ? [] : ['the view changed while the frontier was kept']),
      ],
    };
    earlier = { viewed, input };
  }
  if (!last) return;
  const [plain, given] = asInAll(strategy, options);
  const { tools: _, ...body } = last;
  const chat = viewOf(body, plain, given);
  const viewed = viewInResponses(responsesBody(body), plain, given);
  const isSame = isDeepStrictEqual(
    chatBody(bodyOf(viewed.bytes)).messages,
    messagesOf(itemsOf(sentIn(chat))),
  );
  yield { viewed, broken: isSame ? [] : ['the view is not that of chat'] };
};

function viewInResponses(body: object, strategy: MemoryStrategyRequest, options: ViewOptions) {
  const read = readResponsesRequest(new TextEncoder().encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return viewOfRequest<ModelRequest>(read.value, strategy, options);
}

/** What all protocols can say. */
function sayable(trace: Trace): Trace {
  const { messages } = asBlocksSayIt({ model: trace.model, messages: [...trace.messages] });
  return { ...trace, messages };
}

/**
 * A strategy and options under which views are the same in every protocol: refs and previews of
 * parts depend on how these are written.
 */
function asInAll(
  strategy: MemoryStrategyRequest,
  options: ViewOptions,
): [MemoryStrategyRequest, ViewOptions] {
  const hasPreviews = strategy.mode === 'compact' || strategy.mode === 'auto';
  const plain = hasPreviews ? { ...strategy, compact_preview_tokens: 0 } : strategy;
  const words = (_: string, limit: number): string => 'word '.repeat(Math.min(limit, 20)).trimEnd();
  return [plain, { ...options, words, tenant: undefined }];
}
