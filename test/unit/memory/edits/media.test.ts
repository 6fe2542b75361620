import { describe, expect, it } from 'vitest';
import { contentOf } from '../../../../src/memory/edits/removed-content.ts';
import { assistant, body, lines, step, system, user } from '../../../support/conversations/chat.ts';
import { brokenLaws } from '../../../support/laws/laws.ts';
import { counter, messagesOf, tenant, type ViewOptions, viewOf } from '../../../support/laws/view-of.ts';

type Message = Record<string, unknown>;

const DATA = `data:image/png;base64,${'iVBORw0KGgo='.repeat(40)}`;
const IMAGE = { type: 'image_url', image_url: { url: DATA } };
const FILE = {
  type: 'file',
  file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${'QUJD'.repeat(90)}` },
};
const WORDS = { type: 'text', text: 'What is this?' };

const REF = '; ref=ref_[a-z2-7]{26}; tokens=\\d+';
const marker = (kind: string, part: number, ref = REF): RegExp =>
  new RegExp(
    `^⟦removed: ${kind} for user_message \\(call_id=part_${part}\\); reason=context_compaction${ref}⟧$`,
  );
const placeholder = (kind: string, part: number, ref = REF) => ({
  type: 'text',
  text: expect.stringMatching(marker(kind, part, ref)),
});

/** Edits every old part, and keeps as little of it as possible. */
const INPUT = {
  mode: 'auto',
  token_soft_budget: 0,
  compact_keep: 1,
  min_reclaim_tokens: 0,
  compact_preview_tokens: 0,
  keep_first_user: false,
} as const;

const viewed = (messages: Message[], more: object = {}, options: ViewOptions = {}) =>
  viewOf(body(messages), { ...INPUT, ...more }, options);

/** The parts of an old user message in the view. */
function partsOf(parts: unknown[], more: object = {}, options: ViewOptions = {}): unknown {
  const messages = [system('s'), user(parts), assistant('It is a cat.'), user('And now?')];
  return messagesOf(viewed(messages, more, options))[1]?.content;
}

describe('inline media of an old user message', () => {
  it.each<[what: string, parts: unknown[], expected: unknown[]]>([
    ['images', [WORDS, IMAGE], [WORDS, placeholder('image', 1)]],
    ['files', [FILE, WORDS], [placeholder('file', 0), WORDS]],
    [
      'several',
      [IMAGE, WORDS, FILE, IMAGE],
      [placeholder('image', 0), WORDS, placeholder('file', 2), placeholder('image', 3)],
    ],
    ['nothing but media', [IMAGE], [placeholder('image', 0)]],
    [
      'images of low detail',
      [{ type: 'image_url', image_url: { url: DATA, detail: 'low' } }],
      [placeholder('image', 0)],
    ],
    [
      'what carries a cache breakpoint, which stays',
      [{ ...IMAGE, cache_control: { type: 'ephemeral', ttl: '1h' } }],
      [{ ...placeholder('image', 0), cache_control: { type: 'ephemeral', ttl: '1h' } }],
    ],
  ])('become text in their places: %s', (_, parts, expected) => {
    expect(partsOf(parts)).toEqual(expected);
  });

  it.each<[what: string, part: object]>([
    ['what a URL names', { type: 'image_url', image_url: { url: 'https://shop.test/a.png' } }],
    ['what the upstream’s store holds', { type: 'file', file: { file_id: 'file-123' } }],
    ['audio', { type: 'input_audio', input_audio: { data: 'QUJD'.repeat(90), format: 'wav' } }],
    [
      'what is shorter than its marker',
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ],
    ['parts that nobody knows', { type: 'hologram', hologram: DATA }],
    ['an image without a URL', { type: 'image_url', image_url: {} }],
  ])('stay where they are %s', (_, part) => {
    expect(partsOf([WORDS, part])).toEqual([WORDS, part]);
  });

  it('is kept as the JSON of its part, under a ref that its bytes name', () => {
    const { plan, request } = viewed([user([WORDS, IMAGE]), assistant('a'), user('b')]);
    const [removal] = plan.segments.flat();
    expect(removal && contentOf(removal, request.messages)).toMatchObject({
      text: JSON.stringify(IMAGE),
      type: 'application/json',
    });
    expect(removal?.ref).toBe(tenant.refs.name(JSON.stringify(IMAGE), () => JSON.stringify(IMAGE)));
  });

  it('is reported beside what else is compacted', () => {
    const messages = [user([IMAGE, FILE]), ...step('1', 'f', lines(100)), assistant('a'), user('b')];
    const { report } = viewed(messages);
    expect(report.applied_edits).toEqual([
      {
        type: 'compact',
        cleared_tool_results: 1,
        cleared_tool_inputs: 0,
        cleared_parts: 2,
        cleared_tokens: (report.tokens?.before ?? 0) - (report.tokens?.after ?? 0),
      },
    ]);
    expect(report.refs.map(({ tool_name, tool_call_id }) => `${tool_name} ${tool_call_id}`)).toEqual([
      'user_message part_0',
      'user_message part_1',
      'f 1',
    ]);
  });

  it('has no ref without a tenant, nor where nothing is to be kept', () => {
    const bare = [WORDS, placeholder('image', 1, '')];
    expect(partsOf([WORDS, IMAGE], { token_budget: 0 }, { tenant: undefined })).toEqual(bare);
    expect(partsOf([WORDS, IMAGE], { token_budget: 0, compact_offload: false })).toEqual(bare);
  });

  it('stays where its content is not known to be stored', () => {
    expect(partsOf([WORDS, IMAGE], {}, { isStored: () => false })).toEqual([WORDS, IMAGE]);
  });

  it('frees its flat price, less its marker', () => {
    const { report, view } = viewed([user([WORDS, IMAGE]), assistant('a'), user('b')]);
    const [removal] = [...view.removals.values()].flat();
    expect(removal?.tokens).toBe(765);
    expect(removal?.freed).toBe(765 - counter.text(removal?.replacement ?? ''));
    expect((report.tokens?.before ?? 0) - (report.tokens?.after ?? 0)).toBe(removal?.freed);
  });

  it('is left as it is when it comes back as a placeholder', () => {
    const messages = [user([WORDS, IMAGE]), assistant('a'), user('b')];
    const once = messagesOf(viewed(messages));
    expect(messagesOf(viewed(once))).toEqual(once);
  });

  it('is never replaced by something that takes more bytes', () => {
    for (let length = 0; length < 160; length++) {
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(length)}` } };
      const { bytes, request } = viewed([user([WORDS, image]), assistant('a'), user('b')]);
      expect(bytes.length).toBeLessThanOrEqual(request.bytes.length);
    }
  });
});

describe('inline media', () => {
  it('stay in the request that is being worked on, however long that takes', () => {
    const work = [...'abcdef'].flatMap((name) => step('1', name, lines(60, name)));
    const messages = [user([WORDS, IMAGE]), ...work];
    const { view, report } = viewed(messages, { compact_keep: undefined });
    expect(report.applied_edits).toMatchObject([{ type: 'compact', cleared_tool_results: 3 }]);
    expect(view.removals.has(0)).toBe(false);
  });

  it('stay in all turns that are kept', () => {
    const turns = [1, 2, 3, 4].flatMap(() => [user([IMAGE]), assistant('ok')]);
    const edited = (keep: number): number[] => [
      ...viewed(turns, { compact_keep: keep }).view.removals.keys(),
    ];
    expect(edited(1)).toEqual([0, 2, 4]);
    expect(edited(2)).toEqual([0, 2]);
    expect(edited(9)).toEqual([]);
  });

  it('stay in the request that is being worked on though no turn is to be kept', () => {
    const messages = [user([WORDS, IMAGE]), ...step('1', 'f', lines(60)), assistant('seen')];
    expect(viewed(messages, { compact_keep: 0 }).view.removals.has(0)).toBe(false);
  });

  it('go from a message that opens with the line for what is trimmed', () => {
    const turn = (name: string): Message[] => [user([WORDS, IMAGE]), assistant(lines(40, name))];
    const messages = [...'abcde'].flatMap(turn);
    const trimmed = viewed([...messages, user('next')], {
      token_budget: 1_200,
      summary_max_tokens: 64,
    });
    expect(trimmed.view.trim).toBeDefined();
    expect(trimmed.view.removals.has(trimmed.view.trim?.request?.message ?? -1)).toBe(true);
    expect(brokenLaws(trimmed)).toEqual([]);
  });
});
