import { expect, it } from 'vitest';
import {
  AgentCaller,
  brokenPrefixes,
  markersIn,
  type Sent,
  wrongReport,
} from '../../support/clients/agent-caller.ts';
import { image, type Message, rows } from '../../support/clients/agent-run.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';
import { readSummary } from '../../support/deployment/summarizer.ts';

const deployment = deploy({ summarizer: true });

const text = (words: string): object => ({ type: 'text', text: words });
const answer = (words: string): Message => ({ role: 'assistant', content: words });
const strategy = {
  mode: 'auto',
  token_budget: 3_000,
  min_reclaim_tokens: 0,
  summary_max_tokens: 300,
  low_watermark_pct: 0.9,
  // Images of the first request go too.
  keep_first_user: false,
};

/** Turns that begin with these contents. The last one has no answer. */
function turns(...contents: unknown[]): Message[] {
  return contents
    .flatMap((content, at) => [{ role: 'user', content }, answer(`This is answer ${at + 1}.`)])
    .slice(0, -1);
}

/** Turns that each begin with an image. The last two are kept in full. */
const FIVE = turns(...['one', 'two', 'three', 'four', 'five'].map((name) => [image(name)]));

const ask = (messages: Message[], more: object = {}): Promise<Sent> =>
  new AgentCaller(deployment, { memory_strategy: { ...strategy, ...more } }).send(messages);

async function kept(ref: string): Promise<Response> {
  const response = await deployment.fetch(`/v1/refs/${ref}`);
  expect(response.status).toBe(200);
  return response;
}

overProtocols('an image in a user message, before the frontier of mode auto', deployment, (protocol) => {
  it('becomes a line of text in its place, and can be fetched as the part that it was', async () => {
    const parts = [image('one'), text('What is this?'), image('two'), text('And this?')];
    const messages = turns(parts, [text('Three.'), image('three')], [image('four')], [image('five')]);

    const sent = await ask(messages);

    const [first] = sent.view;
    const content = (first?.content ?? []) as { type: string; text: string }[];
    expect(content.map(({ type }) => type)).toEqual(['text', 'text', 'text', 'text']);
    expect([content[1], content[3]]).toEqual([parts[1], parts[3]]);
    const markers = markersIn(sent.view);
    expect(markers[0]).toMatchObject({ kind: 'image', tool: 'user_message', call: 'part_0', tokens: 765 });
    expect(markers[1]).toMatchObject({ kind: 'image', call: 'part_2' });
    for (const [at, part] of [0, 2].entries()) {
      const response = await kept(markers[at]?.ref ?? '');
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toEqual(protocol.part(parts[part]));
    }
    expect(sent.view.slice(-3)).toEqual(messages.slice(-3));
    expect(sent.memory.applied_edits).toMatchObject([
      { type: 'compact', cleared_tool_results: 0, cleared_tool_inputs: 0, cleared_parts: markers.length },
    ]);
    expect(wrongReport(sent)).toEqual([]);
  });

  it('is kept in the bytes that it came in without its cache breakpoint, which stays', async () => {
    const part = `{ "type":"image_url" ,"image_url":{"url":"data:image/png;base64,${'iVBORw0KGgo'.repeat(40)}=","n":12345678901234567890} }`;
    const marked = part.replace(' }', ', "cache_control":{"type":"ephemeral"} }');
    const rest = turns('Well?', [image('one')], [image('two')], [image('three')], [image('four')]);
    const body = `{"model":"gpt-4.1","messages":[{"role":"user","content":[ ${part} , ${marked} ],"v":1.0},{"role":"assistant","content":"Yes."},${JSON.stringify(rest).slice(1, -1)}]}`;

    const response = await deployment.fetch('/v1/compact', {
      method: 'POST',
      body,
      headers: { 'x-memory-strategy': JSON.stringify(strategy) },
    });

    const view = await response.text();
    const [one, two] = markersIn(view);
    expect(await (await kept(one?.ref ?? '')).text()).toBe(part);
    expect(two?.ref).toBe(one?.ref);
    expect(view).toContain('"cache_control":{"type":"ephemeral"}}');
    expect(view).toContain('"v":1.0');
  });

  it('may be a file as well', async () => {
    const file = {
      type: 'file',
      file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${'QUJD'.repeat(50)}` },
    };
    const { view } = await ask(turns([text('Read it.'), file], [image('one')], [image('two')], 'Thanks.'));

    const [marker] = markersIn(view);
    expect(marker).toMatchObject({ kind: 'file', call: 'part_1', tokens: 1_500 });
    expect(await (await kept(marker?.ref ?? '')).json()).toEqual(protocol.part(file));
  });

  it.each<[string, object]>([
    ['a URL', { type: 'image_url', image_url: { url: 'https://images.test/a.png' } }],
    ['the id of a file', { type: 'file', file: { file_id: 'file-123' } }],
    ['sound', { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }],
  ])('stays when it is only %s', async (_, part) => {
    const messages = turns(
      [text('Look.'), part, image('one')],
      [image('two')],
      [image('three')],
      [image('four')],
    );

    const { view } = await ask(messages, { token_budget: 3_800 });

    expect(view[0]?.content).toContainEqual(part);
    expect(markersIn(view)[0]).toMatchObject({ call: 'part_2' });
  });

  it('stays in the last two turns, however much it weighs', async () => {
    const messages = turns(
      'Hello.',
      Array.from({ length: 6 }, (_, at) => image(`image ${at}`)),
      'Which is best?',
    );

    const { view, memory } = await ask(messages);

    expect(view.slice(-3)).toEqual(messages.slice(-3));
    expect(memory.warnings).toContain('over_budget');
  });

  it('is taken for one by nobody when its placeholder comes back', async () => {
    const first = await ask(FIVE);

    const second = await ask(first.view);

    expect(markersIn(first.view).length).toBeGreaterThan(0);
    expect(second.view).toEqual(first.view);
    expect(second.memory.applied_edits).toEqual([]);
  });

  it('loses its bytes for good only where the caller says so', async () => {
    const { view, memory } = await ask(FIVE, { compact_offload: false });

    expect(view[0]?.content).toEqual([
      {
        type: 'text',
        text: '⟦removed: image for user_message (call_id=part_0); reason=context_compaction⟧',
      },
    ]);
    expect(memory.refs).toEqual([]);
  });
});

overProtocols('a request with an image whose turn is summarized in part', deployment, (protocol) => {
  /** A request with many steps, one with none, and one too large for placeholders alone. */
  function worked(content: unknown): Message[] {
    const steps = Array.from({ length: 14 }, (_, at): Message[] => {
      const call = {
        id: `call_${at}`,
        type: 'function',
        function: { name: 'search', arguments: `{"n":${at}}` },
      };
      return [
        { role: 'assistant', content: `I look. ${rows(`thoughts ${at}`, 12)}`, tool_calls: [call] },
        { role: 'tool', tool_call_id: `call_${at}`, content: rows(`result ${at}`, 40) },
      ];
    }).flat();
    return [
      { role: 'user', content },
      ...steps,
      answer('I have looked.'),
      { role: 'user', content: 'Go on.' },
      answer('I go on.'),
      { role: 'user', content: rows('what is next', 420) },
      answer('Well.'),
      { role: 'user', content: 'And?' },
    ];
  }

  it.each<[string, object[]]>([
    ['an image alone', [image('alone')]],
    ['an image before the text', [image('before'), text('Look at it.')]],
    ['an image behind the text', [text('Look at it.'), image('behind')]],
    ['images around the text', [image('left'), text('Look at it.'), image('right')]],
  ])('stays after the summary, its images as lines of text: %s', async (_, content) => {
    const messages = worked(content);
    const caller = new AgentCaller(deployment, {
      memory_strategy: { ...strategy, token_budget: 10_000, compact_keep: 1, low_watermark_pct: 0.6 },
    });

    const all = await caller.play(messages, [29, 31, 33, 35]);

    expect(all.map(({ headers }) => headers.get('x-memory-applied'))).toEqual([
      'none',
      'compact',
      'compact,summarize',
      'compact,summarize',
    ]);
    expect(brokenPrefixes(all)).toEqual([]);
    expect(all.flatMap(wrongReport)).toEqual([]);
    for (const { view, memory } of all.slice(2)) {
      const [request] = view;
      const [block, ...parts] = (request?.content ?? []) as { type: string; text: string }[];
      expect(readSummary(block?.text).covers).toBe(`0-${memory.summary?.covers[1]}`);
      expect(parts).toHaveLength(content.length);
      for (const [at, part] of parts.entries()) {
        if (JSON.stringify(content[at]).includes('Look at it')) expect(part).toEqual(content[at]);
        else {
          const [marker] = markersIn(part.text);
          expect(marker).toMatchObject({ kind: 'image', call: `part_${at}` });
          expect(await (await kept(marker?.ref ?? '')).json()).toEqual(protocol.part(content[at]));
        }
      }
    }
  });
});
