import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryStrategyRequest } from '../../../../src/memory/modes/table.ts';
import { type MessagesRequest, readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import { chatOf, messagesBody } from '../../../../tools/upstream/blocks.ts';
import { violations } from '../../../../tools/upstream/strict-messages.ts';
import {
  strategy as anyStrategy,
  autoOptions,
  autoStrategy,
  type ConversationBody,
  clearingStrategy,
  conversation,
  richConversation,
} from '../../../support/conversations/arbitrary-conversation.ts';
import { asBlocksSayIt } from '../../../support/conversations/messages.ts';
import {
  type SummaryWriter,
  type Viewed,
  type ViewOptions,
  viewOf,
  viewOfRequest,
} from '../../../support/laws/view-of.ts';

const RUNS = { numRuns: 60, endOnFailure: true };

type Json = Record<string, unknown>;

const encoder = new TextEncoder();
const parsed = (bytes: Uint8Array, reviver?: Parameters<typeof JSON.parse>[1]): Json =>
  JSON.parse(new TextDecoder().decode(bytes), reviver) as Json;
const withoutMarks = (key: string, value: unknown): unknown => (key === 'cache_control' ? undefined : value);

function readBody(body: object): MessagesRequest {
  const read = readMessagesRequest(encoder.encode(JSON.stringify(body)));
  if (!read.ok) throw new Error(read.reason.message);
  return read.value;
}

/** Without previews, which would name a part by its protocol's type. */
function withoutPreviews(input: MemoryStrategyRequest): MemoryStrategyRequest {
  if (input.mode !== 'compact' && input.mode !== 'auto') return input;
  return { ...input, compact_preview_tokens: 0 };
}

/** A summary that does not depend on its input. */
const words: SummaryWriter = (_, limit) => 'word '.repeat(Math.min(limit, 20)).trimEnd();

type Planned = readonly [ConversationBody, MemoryStrategyRequest, ViewOptions];

const CASES: readonly (readonly [string, fc.Arbitrary<Planned>])[] = [
  ['every mode but auto', fc.tuple(conversation, anyStrategy, fc.constant({}))],
  ['auto', fc.tuple(richConversation, autoStrategy, autoOptions(false))],
  ['auto that clears reasoning', fc.tuple(richConversation, clearingStrategy, autoOptions(false))],
];

describe.each(CASES)('any conversation in Messages, %s', (_, planned) => {
  it('has the view that it has as chat messages', () => {
    fc.assert(
      fc.property(planned, fc.boolean(), ([spoken, input, options], merges) => {
        const body = { ...asBlocksSayIt(spoken), max_tokens: 1_000 };
        // Parts and transcripts are stored as their protocol writes them, so their refs differ.
        const given = { ...options, words, tenant: undefined };
        const strategy = withoutPreviews(input);
        const chat = viewOf(body, strategy, given);
        const viewed = viewOfRequest(readBody(messagesBody({ ...body }, { merges })), strategy, given);

        expect(viewed.report).toEqual(chat.report);
        // Marks move to summaries here, and stay behind in chat.
        const inBlocks = messagesBody({ ...parsed(chat.bytes, withoutMarks) }, { merges });
        const sent = chatOf(parsed(viewed.bytes, withoutMarks));
        expect(saidIn(sent)).toEqual(saidIn(chatOf(inBlocks)));
        expect(ofSystem(sent)).toEqual(ofSystem(chatOf(inBlocks)));
      }),
      RUNS,
    );
  });

  it('is what the API accepts, if it was before', () => {
    let edited = 0;
    fc.assert(
      fc.property(planned, fc.boolean(), ([spoken, input, options], merges) => {
        const body = messagesBody({ ...asBlocksSayIt(spoken) }, { merges });
        fc.pre(violations(body).length === 0);
        const viewed = viewOfRequest(readBody(body), input, { ...options, marks: true });
        const additions = {
          marks: 3,
          injected: [
            { role: 'system', content: 'Of us.' },
            { role: 'user', content: 'Of us, too.' },
          ] as const,
          tools: ['{"name":"retrieve_ref","description":"Fetches.","input_schema":{"type":"object"}}'],
        };
        if (viewed.report.applied_edits.length > 0) edited++;
        expect(violations(parsed(viewed.bytes))).toEqual([]);
        expect(violations(parsed(viewed.request.write(viewed.view, additions)))).toEqual([]);
      }),
      RUNS,
    );
    expect(edited).toBeGreaterThan(10);
  });

  it('keeps the bytes of all that it does not edit', () => {
    fc.assert(
      fc.property(planned, fc.boolean(), ([spoken, input, options], merges) => {
        const body = messagesBody({ ...asBlocksSayIt(spoken) }, { merges });
        const request = readBody(body);
        expect(Buffer.compare(request.write(undefined), request.bytes)).toBe(0);
        expect(changedBlocks(viewOfRequest(request, input, options))).toEqual([]);
      }),
      RUNS,
    );
  });
});

const messagesIn = ({ messages }: Json): Json[] => messages as Json[];

/** Messages of the system, which may stand behind a later user message here. */
const ofSystem = (body: Json): Json[] => messagesIn(body).filter(({ role }) => role === 'system');

/** All others. Texts of ours are blocks of their own before other blocks. */
function saidIn(body: Json): Json[] {
  return messagesIn(body).flatMap((message) => {
    if (message.role === 'system') return [];
    return [{ ...message, content: joinedTexts(message.content) }];
  });
}

function joinedTexts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const parts: Json[] = [];
  for (const part of content as Json[]) {
    const last = parts.at(-1);
    if (last?.type !== 'text' || part.type !== 'text') parts.push(part);
    else parts[parts.length - 1] = { ...last, text: `${last.text}\n\n${part.text}` };
  }
  return parts.length === 1 && parts[0]?.type === 'text' ? parts[0].text : parts;
}

/**
 * Messages that are neither dropped nor edited must keep their bytes, but for marks that move there.
 */
function changedBlocks({ request, view, bytes }: Viewed<MessagesRequest>): string[] {
  const text = new TextDecoder().decode(bytes);
  let position = 0;
  for (const [index, message] of request.messages.entries()) {
    const isEdited =
      view.dropped.has(index) ||
      view.removals.has(index) ||
      view.summary?.request?.message === index ||
      view.trim?.request?.message === index;
    if (isEdited || !('range' in message)) continue;
    // A mark stands before the end of a block. A text with one becomes a block.
    const { start, end } = message.blocks ? message.range : (message.element.content ?? message.range);
    const raw = new TextDecoder().decode(request.bytes.subarray(start, end - 1));
    position = text.indexOf(raw, position);
    if (position < 0) return [`an untouched message has changed: ${raw.slice(0, 80)}`];
    position += raw.length;
  }
  return [];
}
