import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementAt } from '../../../../src/lib/elements.ts';
import { Boundaries } from '../../../../src/memory/conversation/boundaries.ts';
import { readHistory } from '../../../../src/memory/conversation/history.ts';
import type { Message as HistoryMessage } from '../../../../src/memory/conversation/message.ts';
import { findEcho, SHADOW_LINE, writeBlock } from '../../../../src/memory/conversation/session-summary.ts';
import { readMessagesRequest } from '../../../../src/protocol/messages/request.ts';
import { readResponsesRequest } from '../../../../src/protocol/responses/request.ts';
import { transcriptOf, transcriptStart } from '../../../../src/summary/kept-transcript.ts';
import { entriesOf, outputEntry, piecesOf } from '../../../../src/summary/text/entries.ts';
import { beginningOf, writeTranscript } from '../../../../src/summary/text/transcript.ts';
import { sha256Hex } from '../../../../src/tenant/identity.ts';
import { conversation } from '../../../support/conversations/arbitrary-conversation.ts';
import { assistant, calls, read, result, step, system, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';
import { counter, tenant } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const historyOf = (messages: Message[], prefixes: string[] = []) => {
  const list = read(messages);
  return readHistory(list, prefixes, findEcho(list, tenant.refs));
};
const entries = (messages: Message[], detail: 'readable' | 'whole' = 'readable', prefixes: string[] = []) =>
  entriesOf(historyOf(messages, prefixes), 0, messages.length, detail);
const REF = tenant.refs.name('a transcript', () => 'a transcript');
const BLOCK = writeBlock('What was.', REF, [0, 41]);

describe('the entries of a conversation', () => {
  it('are its messages without the preamble, results named by the call that they answer', () => {
    const messages = [
      system('s'),
      user('a'),
      calls(['1', 'f', '{"x":1}'], ['2', 'g']),
      result('2', 'two'),
      result('1', 'one'),
      assistant('done'),
    ];
    expect(entries(messages)).toEqual([
      { index: 1, role: 'user', text: 'a', calls: [] },
      {
        index: 2,
        role: 'assistant',
        text: '',
        calls: [
          { id: '1', name: 'f', input: '{"x":1}' },
          { id: '2', name: 'g', input: '{}' },
        ],
      },
      { index: 3, role: 'tool', text: 'two', calls: [], tool: { id: '2', name: 'g' } },
      { index: 4, role: 'tool', text: 'one', calls: [], tool: { id: '1', name: 'f' } },
      { index: 5, role: 'assistant', text: 'done', calls: [] },
    ]);
  });

  it('include the words of reasoning, and nothing encrypted', () => {
    const reasoning = (...words: string[]) => ({
      type: 'reasoning',
      id: 'rs_1',
      summary: words.map((text) => ({ type: 'summary_text', text })),
      encrypted_content: 'x'.repeat(80),
    });
    const items = [
      { role: 'user', content: 'a' },
      reasoning(),
      { type: 'function_call', call_id: '1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: '1', output: 'one' },
      reasoning('I', 'think.'),
      { role: 'assistant', content: 'done' },
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.test/1.png' }] },
    ];
    const body = new TextEncoder().encode(JSON.stringify({ model: 'gpt-5', input: items }));
    const request = readResponsesRequest(body);
    if (!request.ok) throw new Error(request.reason.message);
    const { messages } = request.value;
    const said = entriesOf(readHistory(messages), 0, messages.length, 'readable');
    expect(said.map(({ text }) => text)).toEqual([
      'a',
      '',
      'one',
      'I\nthink.\ndone',
      '[image https://a.test/1.png]',
    ]);
  });

  it('have each tool output as it is looked for', () => {
    const named = { ...result('call_2', 'two\n### 1 user'), name: 'search' };
    const talk = [
      user('a'),
      calls(['call_1', 'f', '{}'], ['call_2', 'g', '{}']),
      result('call_1', 'one'),
      named,
    ];
    const messages = read([...talk, assistant('ls'), user('Observation: x')]);
    const list = readHistory(messages, ['Observation:']);
    const transcript = writeTranscript(entriesOf(list, 0, messages.length, 'whole'));
    const outputs = list.units.flatMap((unit) => unit.outputs);
    expect(outputs).toHaveLength(3);
    for (const { message, call } of outputs)
      expect(transcript).toContain(beginningOf(outputEntry(elementAt(messages, message), call), 1_000));
  });

  it('take a text observation for a tool output', () => {
    const messages = [user('a'), assistant('ls'), user('Observation: x')];
    expect(entries(messages, 'readable', ['Observation:'])[2]).toMatchObject({
      role: 'tool',
      text: 'Observation: x',
    });
  });

  it('include an assistant’s reasoning and refusals besides its words', () => {
    expect(entries([user('a'), assistant('b', { reasoning_content: 'hm', refusal: 'no' })])[1]?.text).toBe(
      'no\nhm\nb',
    );
  });

  it('mention images where a model reads them, and hold all of them where they are kept', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const messages = [user([{ type: 'text', text: 'Look.' }, image])];
    expect(entries(messages)[0]?.text).toBe('Look.\n[image]');
    expect(entries(messages, 'whole')[0]?.text).toContain('iVBORw0KGgo=');
  });

  describe('hold all that a message says, where all of it is kept', () => {
    const whole = (list: readonly HistoryMessage[]) =>
      entriesOf(readHistory(list), 0, list.length, 'whole').map(({ text }) => text);

    it('in chat: citations, an id of audio, and what a gateway has added', () => {
      const citation = { type: 'url_citation', url_citation: { url: 'https://a.test/1', title: 'One' } };
      const step = calls(['1', 'f', '{}']);
      const [call] = step.tool_calls as Message[];
      const list = read([
        user([{ type: 'text', text: 'a', note: 'urgent', cache_control: { type: 'ephemeral' } }]),
        assistant('b', { annotations: [citation], audio: null, refusal: null }),
        { ...user('c'), metadata: { place: 'Rome' }, compacted: true },
        { role: 'assistant', audio: { id: 'audio_1' }, annotations: [] },
        { ...step, tool_calls: [{ ...call, caller: 'program_1' }] },
        result('1', [{ type: 'text', text: 'd', meta: { page: 7 } }]),
      ]);
      expect(whole(list)).toEqual([
        'a\n{"note":"urgent"}',
        `b\n${JSON.stringify({ annotations: [citation] })}`,
        'c\n{"metadata":{"place":"Rome"}}',
        '{"audio":{"id":"audio_1"}}',
        '{"caller":"program_1"}',
        'd\n{"meta":{"page":7}}',
      ]);
    });

    it('in the Responses API: citations, namespaces, and items that hold a picture', () => {
      const cited = { type: 'url_citation', url: 'https://a.test/1', title: 'One' };
      const picture = {
        type: 'image_generation_call',
        id: 'ig_1',
        revised_prompt: 'a cat',
        result: 'iVBORw0',
      };
      const shot = { type: 'computer_screenshot', image_url: 'https://a.test/shot.png' };
      const seen = { type: 'computer_call_output', call_id: '2', output: shot };
      const items = [
        { role: 'user', content: 'a' },
        { type: 'function_call', call_id: '1', name: 'f', arguments: '{}', namespace: 'crm' },
        { type: 'function_call_output', call_id: '1', output: [{ type: 'input_text', text: 'b', meta: 7 }] },
        { type: 'computer_call', call_id: '2', action: { type: 'screenshot' } },
        seen,
        picture,
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'c', annotations: [cited], logprobs: [] }],
        },
      ];
      const request = readResponsesRequest(
        new TextEncoder().encode(JSON.stringify({ model: 'gpt-5', input: items })),
      );
      if (!request.ok) throw new Error(request.reason.message);
      expect(whole(request.value.messages)).toEqual([
        'a',
        '{"namespace":"crm"}',
        'b\n{"meta":7}',
        JSON.stringify(items[3]),
        JSON.stringify(seen),
        `c\n${JSON.stringify(picture)}\n${JSON.stringify({ annotations: [cited] })}`,
      ]);
    });

    it('in Messages: citations, who has made a call, and that it has failed', () => {
      const citation = { type: 'char_location', cited_text: 'so it is', document_index: 0 };
      const text = { type: 'text', text: 'b', citations: [citation] };
      const body = {
        model: 'claude-sonnet-4-6',
        messages: [
          { role: 'user', content: 'a' },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look.', citations: null },
              { type: 'tool_use', id: '1', name: 'f', input: {}, caller: { type: 'direct' } },
            ],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: '1', is_error: true, content: [text] }],
          },
          { role: 'assistant', content: [text] },
        ],
      };
      const request = readMessagesRequest(new TextEncoder().encode(JSON.stringify(body)));
      if (!request.ok) throw new Error(request.reason.message);
      const cited = JSON.stringify({ citations: [citation] });
      expect(whole(request.value.messages)).toEqual([
        'a',
        'I look.\n{"caller":{"type":"direct"}}',
        `b\n{"is_error":true}\n${cited}`,
        `b\n${cited}`,
      ]);
    });
  });

  it('leave out a summary that came back, and its question', () => {
    expect(entries([user(SHADOW_LINE), assistant(BLOCK), user('a')])).toEqual([
      { index: 2, role: 'user', text: 'a', calls: [] },
    ]);
  });

  it.each(['readable', 'whole'] as const)(
    'leave out a summary that opens a request, and keep the request (%s)',
    (detail) => {
      const parts = [
        { type: 'text', text: BLOCK },
        { type: 'text', text: 'Mend it.' },
      ];
      expect(entries([user(`${BLOCK}\n\nMend it.`)], detail)[0]?.text).toBe('Mend it.');
      if (detail === 'readable') expect(entries([user(parts)], detail)[0]?.text).toBe('Mend it.');
      else expect(entries([user(parts)], detail)[0]?.text).toContain('Mend it.');
    },
  );

  it('keep the images of a request that a summary opens, where all of it is kept', () => {
    const parts = [
      { type: 'text', text: BLOCK },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ];
    expect(entries([user(parts)], 'whole')[0]?.text).toContain('iVBORw0KGgo=');
  });

  it('are a range’s', () => {
    const messages = [user('a'), ...step('1', 'f', 'x'), assistant('b'), user('c')];
    const history = historyOf(messages);
    expect(entriesOf(history, 1, 4, 'readable').map(({ index }) => index)).toEqual([1, 2, 3]);
    expect(entriesOf(history, 0, 1, 'readable').map(({ index }) => index)).toEqual([0]);
    expect(entriesOf(history, 5, 5, 'readable')).toEqual([]);
  });

  it('hold each message once, in its order, however the conversation is parted', () => {
    forAll(
      { endOnFailure: true },
      conversation,
      fc.array(fc.nat(), { maxLength: 3 }),
      ({ messages }, cuts) => {
        const history = historyOf(messages, ['Observation:']);
        const boundaries = new Boundaries(history, sha256Hex);
        const ends = history.units.map(({ first }) => first);
        const chosen = [...new Set([...cuts.map((cut) => ends[cut % ends.length] ?? 0), messages.length])]
          .filter((end) => end > 0)
          .toSorted((a, b) => a - b)
          .map((end) => boundaries.at(end));
        const whole = entriesOf(history, 0, messages.length, 'readable');
        expect(piecesOf(history, 0, chosen).flatMap(({ entries }) => entries)).toEqual(whole);
        expect(whole.map(({ index }) => index)).toEqual(
          messages.flatMap(({ role }, index) => (role === 'system' || role === 'developer' ? [] : [index])),
        );
        expect(piecesOf(history, 0, chosen).map(({ boundary }) => boundary)).toEqual(chosen);
      },
    );
  });

  it('make no piece of what is covered already', () => {
    const history = historyOf([user('a'), assistant('b'), user('c'), assistant('d')]);
    const boundaries = new Boundaries(history, sha256Hex);
    const pieces = piecesOf(history, 2, boundaries.upTo(4));
    expect(pieces.map(({ boundary }) => boundary.end)).toEqual([3, 4]);
    expect(pieces.flatMap(({ entries }) => entries.map(({ text }) => text))).toEqual(['c', 'd']);
  });
});

describe('a transcript that is kept', () => {
  const messages = [user('a'), ...step('1', 'f', 'the output'), assistant('b'), user('c')];
  const history = historyOf(messages);
  const range = { history, from: 0, end: 4, earlier: undefined };

  it('says which messages it holds, and holds them unchanged', () => {
    const kept = transcriptOf(range, tenant, 'conversation 1', counter);
    expect(kept.text()).toMatch(/^Messages 0-3 of a conversation, unchanged\.\n\n### 0 user\na\n/);
    expect(kept.text()).toContain('the output');
    expect(kept.metadata()).toMatchObject({
      tool_name: 'session_transcript',
      bytes: new TextEncoder().encode(kept.text()).length,
      tokens: counter.text(kept.text()),
      conversation: 'conversation 1',
    });
  });

  it('names the one before it', () => {
    const earlier = tenant.refs.name('earlier', () => 'earlier');
    const kept = transcriptOf({ ...range, from: 1, earlier }, tenant, undefined, counter);
    expect(kept.text()).toMatch(
      new RegExp(
        `^Messages 1-3 of .*\\nWhat stood before them is kept under ${earlier}\\.\\n\\n### 1 assistant`,
      ),
    );
    expect(kept.ref).not.toBe(transcriptOf(range, tenant, undefined, counter).ref);
    expect(kept.metadata()).not.toHaveProperty('conversation');
  });

  it('holds an answer that the caller has just been given', () => {
    const answer = { index: 4, role: 'assistant' as const, text: 'the answer', calls: [] };
    expect(transcriptOf({ ...range, answer }, tenant, undefined, counter).text()).toContain(
      '### 4 assistant\nthe answer',
    );
  });

  it('has another ref when it has another text', () => {
    const hashed = (messages: Message[]) => {
      const history = historyOf(messages);
      const range = { history, from: 0, end: messages.length, earlier: undefined };
      return transcriptOf(range, tenant, undefined, counter);
    };
    const one = hashed(messages);
    const other = hashed([system('It is Monday.'), ...messages]);
    expect(other.text()).not.toBe(one.text());
    expect(other.ref).not.toBe(one.ref);
  });

  it('has no half of a character', () => {
    const broken = historyOf([user('\ud83d'), assistant('b')]);
    const kept = transcriptOf({ ...range, history: broken, end: 2 }, tenant, undefined, counter);
    expect(kept.text().isWellFormed()).toBe(true);
  });

  it('starts after the one of its base, else at the beginning, after what a summary that came back names', () => {
    expect(transcriptStart(history, { ref: REF, covers_end: 3 })).toEqual({ from: 3, earlier: REF });
    expect(transcriptStart(history, { ref: null, covers_end: 3 })).toEqual({ from: 0, earlier: undefined });
    expect(transcriptStart(history, null)).toEqual({ from: 0, earlier: undefined });
    const echoed = historyOf([user(SHADOW_LINE), assistant(BLOCK), user('a')]);
    expect(transcriptStart(echoed, undefined)).toEqual({ from: 0, earlier: REF });
  });
});
