import { describe, expect, it } from 'vitest';
import type { JoinedStreams } from '../../../../src/protocol/answers/answer-format.ts';
import { Frame } from '../../../../src/protocol/answers/sse.ts';
import { responsesFormat } from '../../../../src/protocol/responses/format.ts';
import { eventsOf, type ResponseAnswer } from '../../../../tools/upstream/response.ts';
import {
  call,
  decoder,
  encoder,
  type Json,
  join,
  jsonIn,
  OURS,
  reasoning,
  request,
  streamed,
  UNSTORED,
} from './joined.ts';

describe('upstreams that are less exact', () => {
  /** The answers' events as one upstream sends them. The last answer has no round after it. */
  function reported(answers: readonly Json[][], most = 3) {
    let text = '';
    const joined = join<JoinedStreams>('joinStreams', most, (streams, at) => {
      if (at > 0) streams.begin();
      for (const event of answers[at] ?? []) {
        const data = JSON.stringify(event);
        for (const { bytes } of streams.take(Frame.of(data))) text += decoder.decode(bytes);
      }
      return streams.isThrough ? streams.turn : undefined;
    });
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);
    return { ...joined, events, response: (events.at(-1)?.response ?? {}) as Json };
  }
  const created = (id: string) => ({ type: 'response.created', response: { id, output: [] } });
  const completed = (id: string, ...output: Json[]) => ({
    type: 'response.completed',
    response: { id, status: 'completed', output },
  });
  const begins = (output_index: number, item: Json) => ({
    type: 'response.output_item.added',
    output_index,
    item,
  });
  const ends = (output_index: number, item: Json) => ({
    type: 'response.output_item.done',
    output_index,
    item,
  });
  const says = (text: string): Json => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  });
  const calls = (call_id: string): Json => ({
    type: 'function_call',
    call_id,
    name: 'retrieve_ref',
    arguments: '{}',
  });
  const thinks = (id: string): Json => ({ type: 'reasoning', id, summary: [] });

  it('may give two items one index', () => {
    const [one, two]: [Json, Json] = [
      { id: 'fc_1', ...calls('1') },
      { id: 'fc_2', ...calls('2') },
    ];
    const opened = [created('a'), begins(0, one), begins(0, two)];
    for (const output of [[], [one, two]]) {
      const { turns } = reported([[...opened, ends(0, one), ends(0, two), completed('a', ...output)]]);
      expect(turns.map((turn) => turn.calls.map(({ id }) => id))).toEqual([['1', '2']]);
    }
  });

  it('may give items no ids, and tell of an end in the last event alone', () => {
    const items = [says('One.'), says('Two.'), calls('1')];
    const opened = items.map((item, at) => begins(at, { ...item, content: [] }));
    const { turns } = reported([[created('a'), ...opened, ends(0, says('One.')), completed('a', ...items)]]);
    expect(turns.map(({ messages }) => messages)).toEqual([items]);
  });

  it('may tell of items in the last event alone', () => {
    const items = [thinks('rs_1'), says('So.'), thinks('rs_2'), calls('1')];
    const answers = [[created('a'), completed('a', ...items)]];
    expect(reported(answers, 0).response.output).toEqual(items.slice(0, 2));
    const { turns, events, response } = reported([...answers, [created('b'), completed('b', says('End.'))]]);
    expect(turns).toHaveLength(1);
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
    expect(response).toMatchObject({ id: 'a', output: [...items.slice(0, 2), says('End.')] });
  });

  it('may say something else before they open a response', () => {
    const first = [{ type: 'codex.rate_limits' }, created('a'), begins(0, says('')), ends(0, says('So.'))];
    const { response } = reported([
      [...first, begins(1, calls('1')), completed('a', says('So.'), calls('1'))],
      [created('b'), completed('b')],
    ]);
    expect(response).toMatchObject({ id: 'a', output: [says('So.')] });
  });

  // https://github.com/decolua/9router/pull/2142
  it('may end with `response.done`, which has the status', () => {
    const done = (id: string, status: string, ...output: Json[]) => ({
      type: 'response.done',
      response: { id, status, output },
    });
    const { turns, response } = reported([
      [created('a'), done('a', 'completed', calls('1'))],
      [created('b'), done('b', 'completed', says('End.'))],
    ]);
    expect([turns.length, response]).toMatchObject([1, { id: 'b', output: [says('End.')] }]);
    expect(reported([[created('a'), done('a', 'cancelled', calls('1'))]]).turns).toEqual([]);
  });

  it('may leave the status of a body out', () => {
    const bodies = responsesFormat.joinBodies(OURS, () => true);
    const taken = bodies.take(encoder.encode(JSON.stringify({ id: 'resp_1', output: [calls('1')] })));
    expect(taken).toMatchObject({ calls: [{ id: '1' }] });
  });
});

describe('an upstream that numbers no items', () => {
  type Event = Json & { readonly type: string };
  const response = (id: string, output: Json[] = []) => ({
    id,
    object: 'response',
    status: 'completed',
    output,
  });
  const text = (id: string, words: string): Json => ({
    type: 'message',
    id,
    role: 'assistant',
    content: [{ type: 'output_text', text: words, annotations: [] }],
  });
  /**
   * An answer as llama.cpp sends it: all items begin before the first one ends.
   *
   * @param named whether calls have ids of their own
   */
  const llama = (id: string, words: string, named: boolean, ...called: string[]): Event[] => {
    const message = text(`msg_${id}`, words);
    const calls = called.map((name, at) => ({
      ...(named ? { id: `fc_${id}${at}` } : {}),
      type: 'function_call',
      call_id: named ? `call_${id}${at}` : `fc_${id}${at}`,
      name,
      arguments: '{}',
    }));
    return [
      { type: 'response.created', response: { id, object: 'response', status: 'in_progress' } },
      { type: 'response.in_progress', response: { id, object: 'response', status: 'in_progress' } },
      { type: 'response.output_item.added', item: { ...message, content: [] } },
      { type: 'response.content_part.added', item_id: message.id, part: { type: 'output_text', text: '' } },
      { type: 'response.output_text.delta', item_id: message.id, delta: words },
      ...calls.flatMap((item, at) => [
        { type: 'response.output_item.added', item: { ...item, arguments: '' } },
        { type: 'response.function_call_arguments.delta', item_id: `fc_${id}${at}`, delta: '{}' },
      ]),
      { type: 'response.output_item.done', item: message },
      ...calls.map((item) => ({ type: 'response.output_item.done', item })),
      { type: 'response.completed', response: response(id, [message, ...calls]) },
    ];
  };
  /** The events for the caller, for each event. */
  const shownOf = (streams: JoinedStreams, events: readonly Event[]): Event[][] =>
    events.map((event) => {
      const data = JSON.stringify(event);
      return streams.take(Frame.of(data)).map(({ bytes }) => jsonIn(decoder.decode(bytes)) as Event);
    });

  it.each([true, false])(
    'F21: has its text shown at once, and calls of Precis’s tools not at all (its calls have ids: %s)',
    (named) => {
      const streams = responsesFormat.joinStreams(OURS, () => true);
      const events = llama('a', 'Let me look.', named, 'retrieve_ref');
      const shown = shownOf(streams, events);
      expect(shown.slice(0, 5).map((frames) => frames.length)).toEqual([0, 0, 3, 1, 1]);
      expect(JSON.stringify(shown)).not.toContain('retrieve_ref');
      expect(JSON.stringify(shown)).not.toContain('fc_a');
      expect(shown.flat().at(-1)).toEqual({
        type: 'response.output_item.done',
        item: text('msg_a', 'Let me look.'),
      });
      expect(streams.isThrough).toBe(true);
      expect(streams.turn?.calls).toEqual([
        { id: named ? 'call_a0' : 'fc_a0', name: 'retrieve_ref', arguments: '{}' },
      ]);

      streams.begin();
      const rest = shownOf(streams, llama('b', 'So.', named, 'look_up')).flat();
      expect(rest.at(-1)).toMatchObject({
        type: 'response.completed',
        response: {
          id: 'a',
          output: [text('msg_a', 'Let me look.'), text('msg_b', 'So.'), { name: 'look_up' }],
        },
      });
      expect(rest.filter(({ type }) => type === 'response.created')).toEqual([]);
    },
  );

  const leftOut: Record<string, (event: Json) => Json | undefined> = {
    'no index': ({ output_index: _, ...event }) => event,
    'an index that is null': (event) => ('output_index' in event ? { ...event, output_index: null } : event),
    'no id of an item': ({ item_id: _, ...event }) => event,
    'no beginning of an item': (event) => (event.type === 'response.output_item.added' ? undefined : event),
    'no end of an item': (event) => (event.type === 'response.output_item.done' ? undefined : event),
    'no output in the end': (event) =>
      event.type === 'response.completed'
        ? { ...event, response: { ...(event.response as Json), output: [] } }
        : event,
  };
  const lacks = Object.keys(leftOut);

  it.each(lacks.flatMap((one) => lacks.map((other) => [one, other])))(
    'F21: fetches and shows no call of Precis’s tools with %s and %s',
    (one, other) => {
      const changed = (frame: string): string => {
        const event = leftOut[one]?.(JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? ''));
        const left = event && leftOut[other]?.(event);
        return left ? `event: ${left.type}\ndata: ${JSON.stringify(left)}\n\n` : '';
      };
      const ours = { ...call('retrieve_ref', '{"ref":"ref_1"}') };
      const beginnings: ResponseAnswer[] = [
        { reasoning, toolCalls: [ours] },
        { reasoning, content: 'Wait.', toolCalls: [ours, call('look_up')] },
      ];
      const forms = [{}, UNSTORED].flatMap((form) => beginnings.map((first) => [first, form] as const));
      for (const [first, form] of forms) {
        const seen = streamed([first, { reasoning, content: 'So.' }], 1, changed, form);
        expect(seen.turns).toMatchObject([{ calls: [{ id: ours.id, arguments: '{"ref":"ref_1"}' }] }]);
        expect(seen.text).not.toContain('retrieve_ref');
        expect(seen.text).toContain('"delta":"So."');
        const ids = seen.events.flatMap(({ response }) => (response ? [(response as Json).id] : []));
        expect(new Set(ids).size).toBe(1);
      }
      const callers = streamed([{ toolCalls: [call('look_up'), ours] }], 1, changed);
      expect([callers.turns, callers.text.includes('retrieve_ref')]).toEqual([[], false]);
      expect(callers.text).toContain('look_up');
    },
  );

  it('F21: keeps its bytes where nothing of it is Precis’s', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const events = llama('a', 'Hello.', true, 'look_up', 'look_up');
    expect(shownOf(streams, events).flat()).toEqual(events);
  });

  it('F21: may name neither items nor numbers: then the order says it', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const message = { ...text('', 'Hm.'), id: undefined };
    const item = { type: 'function_call', call_id: 'c', name: 'retrieve_ref', arguments: '{}' };
    const shown = shownOf(streams, [
      { type: 'response.created', response: response('a') },
      { type: 'response.output_item.added', item: { ...message, content: [] } },
      { type: 'response.output_text.delta', delta: 'Hm.' },
      { type: 'response.output_item.done', item: message },
      { type: 'response.output_item.added', item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', delta: '{}' },
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: response('a', []) },
    ]);
    expect(shown.map((frames) => frames.length)).toEqual([0, 2, 1, 1, 0, 0, 0, 0]);
    expect(streams.turn?.calls).toEqual([{ id: 'c', name: 'retrieve_ref', arguments: '{}' }]);
  });

  it('F21: may tell of a text alone', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const shown = shownOf(streams, [
      { type: 'response.created', response: response('a') },
      { type: 'response.output_text.delta', delta: 'Hm.' },
    ]);
    expect(shown.map((frames) => frames.length)).toEqual([0, 2]);
  });
});

describe('a caller for whom nothing comes', () => {
  const jsonOf = (frames: readonly Frame[]): Json[] =>
    frames.map(({ bytes }) => jsonIn(decoder.decode(bytes)));
  const answers: readonly ResponseAnswer[] = [
    { id: '0', content: 'Wait.', reasoning, toolCalls: [call('retrieve_ref')] },
    { id: '1', content: 'So.', reasoning },
  ];

  it('F24: gets the opening events, and then events that the response is in progress', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    const seen: Json[] = [];
    expect(streams.keepalive?.()).toEqual([]);
    let between = 0;
    for (const [at, answer] of answers.entries()) {
      if (at > 0) streams.begin();
      for (const event of eventsOf(request, answer)) {
        seen.push(...jsonOf(streams.take(new Frame(encoder.encode(event)))));
        const alive = jsonOf(streams.keepalive?.() ?? []);
        if (seen.length > 0) between += alive.length;
        seen.push(...alive);
      }
    }
    expect(between).toBeGreaterThan(5);
    expect(seen.map(({ sequence_number }) => sequence_number)).toEqual([...seen.keys()]);
    expect(seen[0]?.type).toBe('response.created');
    const responses = seen.flatMap((event) => (event.response ? [event.response as Json] : []));
    expect(new Set(responses.map(({ id }) => id))).toEqual(new Set(['resp_0']));
    const kindsOf = ({ output }: Json) => (output as Json[]).map(({ type }) => type);
    expect(kindsOf(responses.at(-1) ?? {})).toEqual(['reasoning', 'message', 'reasoning', 'message']);
    // Clients take this event's output for all items so far, so it must have them all.
    const ended: Json[] = [];
    for (const event of seen) {
      if (event.type === 'response.output_item.done') ended.push(event.item as Json);
      if (event.type === 'response.in_progress') expect((event.response as Json).output).toEqual(ended);
      expect(JSON.stringify(event)).not.toContain('retrieve_ref');
    }
  });

  it('F24: gets reasoning in progress as it began', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true, UNSTORED);
    const answer = { ...answers[0], reasoning: { encrypted: 'sealed' } };
    const reported: number[] = [];
    for (const event of eventsOf(request, answer)) {
      streams.take(new Frame(encoder.encode(event)));
      const [alive] = jsonOf(streams.keepalive?.() ?? []);
      reported.push(((alive?.response as Json)?.output as Json[])?.length ?? -1);
    }
    // The first two events open the response. Then reasoning, which ends with the item after it;
    // then a text and its end.
    expect(reported).toEqual([0, 0, 1, 1, ...Array(5).fill(-1), 2, 2, 2, 2, 2, 2]);
  });

  it('F24: is sent none in the middle of an item', () => {
    const streams = responsesFormat.joinStreams(OURS, () => true);
    for (const event of [...eventsOf(request, { content: 'Hello there.' })].slice(0, 6))
      streams.take(new Frame(encoder.encode(event)));
    expect(streams.keepalive?.()).toEqual([]);
  });
});
