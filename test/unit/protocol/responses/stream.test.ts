import { describe, expect, it } from 'vitest';
import { idleReport } from '../../../../src/memory/plan/report.ts';
import type { StreamFault, StreamForm } from '../../../../src/protocol/answers/answer-format.ts';
import { AnswerPipeline } from '../../../../src/protocol/answers/answer-pipeline.ts';
import { KEEPALIVE } from '../../../../src/protocol/answers/sse.ts';
import { ResponsesStream } from '../../../../src/protocol/responses/stream.ts';
import { eventsOf } from '../../../../tools/upstream/response.ts';

type Event = Record<string, unknown>;

const EVENTS = [...eventsOf({ model: 'gpt-5' }, { id: '1', content: 'Hello there.' })];
const OPENING = EVENTS.filter((event) => /"response\.(?:created|in_progress)"/.test(event));
const COMMENT = new TextDecoder().decode(KEEPALIVE);
const GONE = { message: 'Gone.', type: 'server_error', param: null, code: 'upstream_unreachable' };

const parse = (frame: string): Event => JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? 'null');
const framesOf = (text: string): Event[] => text.split('\n\n').filter(Boolean).map(parse);

/** A stream after some events. */
function streamAfter(events: readonly string[], form: StreamForm, isReported = false) {
  const report = isReported ? () => idleReport('none', 'default') : undefined;
  const pipeline = new AnswerPipeline(new ResponsesStream(report, undefined, form));
  const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  const push = (frame: string): string => pipeline.push(new TextEncoder().encode(frame)).map(decode).join('');
  const text = push(events.join(''));
  return {
    pipeline,
    text,
    push,
    keepalive: () => decode(pipeline.keepalive() ?? new Uint8Array()),
    error: (fault: StreamFault = GONE) => framesOf(decode(pipeline.error(fault))),
  };
}

describe('a sign of life in a response', () => {
  const form = { livesBy: 'events_before_content' } as const;

  it('repeats how the response began, with the number of the event before it', () => {
    expect(OPENING).toHaveLength(2);
    const { keepalive } = streamAfter(OPENING, form);
    const { type, sequence_number, response } = parse(OPENING[1] ?? '');
    expect(keepalive()).toMatch(/^event: response\.in_progress\n/);
    expect(parse(keepalive())).toEqual({ type, sequence_number, response });
    const created = streamAfter(OPENING.slice(0, 1), form);
    expect(parse(created.keepalive())).toMatchObject({ type: 'response.in_progress', sequence_number: 0 });
  });

  it('is a comment before the response is created, and once it has content', () => {
    expect(streamAfter([], form).keepalive()).toBe(COMMENT);
    expect(streamAfter(EVENTS.slice(0, 3), form).keepalive()).toBe(COMMENT);
  });

  it('is an event anywhere for a client that does not read it', () => {
    const anywhere = { livesBy: 'events' } as const;
    expect(parse(streamAfter([], anywhere).keepalive())).toEqual({
      type: 'response.in_progress',
      sequence_number: 0,
    });
    const { keepalive } = streamAfter(EVENTS.slice(0, 6), anywhere);
    const last = parse(EVENTS[5] ?? '');
    expect(parse(keepalive())).toMatchObject({
      type: 'response.in_progress',
      sequence_number: last.sequence_number,
    });
  });

  it('is a comment for all others', () => {
    expect(streamAfter(OPENING, {}).keepalive()).toBe(COMMENT);
    expect(streamAfter(OPENING, { failsAsAnswer: true }).keepalive()).toBe(COMMENT);
  });

  it('changes no event after it', () => {
    const { keepalive, push, text } = streamAfter(OPENING, form);
    keepalive();
    expect(text + push(EVENTS.slice(2).join(''))).toBe(EVENTS.join(''));
  });
});

describe('the end of a response', () => {
  // https://github.com/Wei-Shaw/sub2api/issues/1322
  it.each([
    ['response.completed', true],
    ['response.done', true],
    ['response.incomplete', true],
    ['response.cancelled', false],
    ['response.canceled', false],
    ['response.failed', false],
  ])('may be %s', (type, isWhole) => {
    const { pipeline, text } = streamAfter(
      [...OPENING, `data: ${JSON.stringify({ type, response: {} })}\n\n`],
      {},
      true,
    );
    expect([pipeline.isOver, pipeline.isWhole, pipeline.end().complete]).toEqual([true, isWhole, true]);
    expect(framesOf(text).at(-1)).toMatchObject({ type, response: { memory: { mode: 'none' } } });
  });
});

describe('an error in a response that may fail', () => {
  const form = { failsAsAnswer: true };

  it('ends the response that has begun', () => {
    const events = EVENTS.slice(0, 5);
    const [failed, ...more] = streamAfter(events, form).error();
    expect(more).toEqual([]);
    expect(failed).toMatchObject({
      type: 'response.failed',
      sequence_number: 5,
      response: {
        id: (parse(EVENTS[0] ?? '').response as Event).id,
        status: 'failed',
        error: { code: 'server_error', message: 'Gone.', reason: 'upstream_unreachable' },
      },
    });
  });

  it('begins the response, if nothing has', () => {
    expect(streamAfter([], form).error()).toMatchObject([
      { type: 'response.created', sequence_number: 0, response: { status: 'in_progress' } },
      { type: 'response.failed', sequence_number: 1, response: { status: 'failed' } },
    ]);
  });

  it.each([
    [
      'flat',
      { type: 'error', sequence_number: 2, code: 'server_is_overloaded', message: 'Busy.', param: null },
    ],
    ['as a member', { type: 'error', error: { code: 'server_is_overloaded', message: 'Busy.' } }],
    ['without a type', { error: { code: 'server_is_overloaded', message: 'Busy.' } }],
  ])("is an upstream's own event, too: %s", (_, event) => {
    const { push, pipeline } = streamAfter(OPENING, form, true);
    const [failed] = framesOf(push(`event: error\ndata: ${JSON.stringify(event)}\n\n`));
    expect(failed).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'server_is_overloaded', message: 'Busy.' }, memory: { mode: 'none' } },
    });
    expect([pipeline.isOver, pipeline.isWhole]).toEqual([true, false]);
    const again = { type: 'response.failed', response: { status: 'failed' } };
    expect(framesOf(push(`data: ${JSON.stringify(again)}\n\n`))).toEqual([]);
  });

  it.each([
    [{ type: 'rate_limit_error', code: null }, 'rate_limit_exceeded'],
    [{ type: 'tokens', code: null, status: 429 }, 'rate_limit_exceeded'],
    [{ type: 'invalid_request_error', code: 'body_too_large', status: 413 }, 'context_length_exceeded'],
    [{ type: 'invalid_request_error', code: 'invalid_json', status: 400 }, 'invalid_prompt'],
    [{ type: 'permission_error', code: 'upstream_refused' }, 'invalid_prompt'],
    [{ type: 'insufficient_quota', code: 'insufficient_quota', status: 429 }, 'insufficient_quota'],
    [{ type: 'odd', code: 400 as never }, 'server_error'],
  ])('has a code that clients know: %o', (said, code) => {
    const [, failed] = streamAfter([], form).error({ ...GONE, ...said });
    expect(failed).toMatchObject({ response: { error: { code } } });
  });

  it('is the event of the API for all others', () => {
    const { type, ...fields } = GONE;
    expect(streamAfter(OPENING, {}).error()).toEqual([
      { type: 'error', sequence_number: 2, ...fields, error: { type, ...fields } },
    ]);
  });
});
