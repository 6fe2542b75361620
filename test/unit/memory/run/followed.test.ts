import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utcTimeOf } from '../../../../src/lib/utc-time.ts';
import { packedMessages, type RequestPrefix } from '../../../../src/memory/conversation/request-prefix.ts';
import { scheduleOf } from '../../../../src/memory/models/schedules.ts';
import type { BillOrder } from '../../../../src/memory/money/bill.ts';
import type { RunUsage } from '../../../../src/memory/money/bill-schema.ts';
import type { EditedAt } from '../../../../src/memory/replay/change.ts';
import { type ComparedRequest, followed, type Line } from '../../../../src/memory/run/followed.ts';
import { BILL_ORDER } from '../../../support/conversations/ended-runs.ts';
import { forAll } from '../../../support/laws/runs.ts';

const MINUTE = 60_000;
const OPENAI = 'gpt-4.1';
const CLAUDE = 'claude-opus-4-6';

/** Names of messages; equal ones say the same. */
const array = (length: number): string[] => Array.from({ length }, (_, at) => String(at).padStart(3, '0'));

interface Asked
  extends Partial<Omit<ComparedRequest, 'prefix'>>,
    Partial<Omit<RequestPrefix, 'own' | 'messages'>> {
  readonly ownTools?: string;
  /** What of its view is Precis's, before any of its messages. Null: a line of a version before. */
  readonly view?: { readonly edits?: string; readonly rounds?: string } | null;
  readonly array?: readonly string[];
  /** Minutes since the first request. */
  readonly after?: number;
  /** Null: no usage is known. */
  readonly usage?: RunUsage | null;
  readonly writes?: number;
  readonly keptMs?: number;
}

/** The misses and dropped reasoning of requests, one after the other. */
function course(...requests: readonly Asked[]) {
  let lines: readonly Line[] = [];
  return requests.map((asked, index) => {
    const { array: messages = array(10 + index), after = index, usage, writes, keptMs, ...rest } = asked;
    const {
      own,
      ownTools = '',
      // What an isolate knows of counts where nothing can be compared.
      view = own ? null : {},
      edited,
      added = '',
      ready,
      reasoning,
      isFar = false,
      verdict,
      ...prefix
    } = rest;
    const at = 1_000_000_000 + after * MINUTE;
    const editedOf = (before: number) => ({ ...NO_EDITS, ...view, messages: before });
    const model = prefix.model ?? OPENAI;
    const order: BillOrder = {
      ...BILL_ORDER,
      schedule: scheduleOf(model, utcTimeOf(new Date('2026-10-10'))) ?? null,
      calls: [usage === undefined ? read(20_000, 19_968) : usage],
      ...(writes === undefined ? {} : { writes }),
      ...(keptMs === undefined ? {} : { keptMs }),
    };
    const request = {
      prefix: { ...NO_SETTINGS, model, ...prefix, own: ownTools, added, messages: packedMessages(messages) },
      ...(view ? { edited: [0, messages.length].map(editedOf) } : {}),
      ...(edited ? { edited } : {}),
      ready: ready ?? at + 1_000,
      isFar,
      ...(own ? { own } : {}),
      ...(reasoning ? { reasoning } : {}),
      ...(verdict ? { verdict } : {}),
    };
    const { miss, dropped, lines: next } = followed(lines, request, at, order);
    lines = next;
    return { miss, dropped };
  });
}

const NO_EDITS = { edits: '', rounds: '' };
const NO_SETTINGS = { tools: '', effort: '', format: '', user: '', key: '' };

const read = (input: number, cached: number | null, cache_writes: number | null = null): RunUsage => ({
  input,
  cached,
  cache_writes,
  output: 10,
});

const missOf = (...requests: readonly Asked[]) => course(...requests).at(-1)?.miss;
const MISSED = { usage: read(20_000, 2_048) };

describe('the cause of a cache miss', () => {
  it('is what has changed: a setting, a message by its number, or a move with its trigger', () => {
    for (const cause of ['key', 'user', 'tools', 'effort', 'format'] as const)
      expect(missOf({}, { ...MISSED, [cause]: 'other' })).toMatchObject({ cause, by: 'precis' });
    expect(missOf({}, { ...MISSED, model: 'gpt-4.1-mini' })).toMatchObject({ cause: 'model' });
    const edited = array(11).with(4, 'new');
    expect(missOf({}, { ...MISSED, array: edited })).toMatchObject({ cause: 'message', message: 4 });
    const own = { cause: 'move', trigger: 'token_budget' } as const;
    expect(missOf({}, { ...MISSED, own })).toMatchObject(own);
    expect(missOf({}, { ...MISSED, own, array: edited })).toMatchObject({ cause: 'message' });
    expect(missOf({}, { ...MISSED, ownTools: 'others' })).toMatchObject({ cause: 'own_tools' });
    expect(missOf({}, MISSED)).toMatchObject({ cause: 'vendor' });
  });

  it("is Precis's own change that the isolate of the request does not know of", () => {
    const edited = { view: { edits: 'one' } };
    const other = { ...MISSED, view: { edits: 'other' } };
    expect(missOf(edited, other)).toMatchObject({ cause: 'move', by: 'precis' });
    expect(missOf({ view: {} }, other)).toMatchObject({ cause: 'move' });
    expect(missOf({ view: {} }, { ...MISSED, view: { rounds: 'one' } })).toMatchObject({ cause: 'rounds' });
    expect(missOf(edited, { ...MISSED, ...edited, added: 'block' })).toMatchObject({ cause: 'added' });
    expect(missOf({}, { ...MISSED, ownTools: '+' })).toMatchObject({ cause: 'instructions' });
    const own = { cause: 'hosted' } as const;
    expect(missOf(edited, { ...other, own })).toMatchObject(own);
    expect(missOf(edited, { ...other, own: { cause: 'own_tools' } })).toMatchObject({ cause: 'move' });
    // Not all that an isolate takes for a change is one since the request before.
    expect(missOf(edited, { ...MISSED, ...edited, own })).toMatchObject({ cause: 'vendor' });
    expect(missOf(edited, { ...MISSED, ...edited, own: { cause: 'unread' } })).toMatchObject({
      cause: 'vendor',
    });
    // A request of a version before, or one that is too old to be compared with.
    expect(missOf({ view: null }, { ...other, own })).toMatchObject(own);
    expect(missOf({ view: null }, other)).toMatchObject({ cause: 'unknown' });
    expect(missOf({ view: null }, { ...other, verdict: { cache: 'none' } })).toMatchObject({
      cause: 'vendor',
    });
    expect(missOf({ view: null }, { ...other, tools: 'other' })).toMatchObject({ cause: 'tools' });
  });

  it("is Precis's own change however many requests came between, as far as hashes are kept", () => {
    const changed = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => ({
        messages: from + at,
        ...{ edits: `${from + at}`, rounds: '' },
      }));
    const since = (edited: readonly EditedAt[]) =>
      missOf({ view: { edits: '9' } }, { ...MISSED, array: array(200), view: null, edited })?.cause;
    expect(since([...changed(5, 10), { messages: 200, edits: '9', rounds: '' }])).toBe('vendor');
    expect(since([...changed(5, 9), { messages: 200, edits: '8', rounds: '' }])).toBe('move');
    expect(since(changed(12, 44))).toBe('unknown');
    // The array has become shorter.
    expect(since([{ messages: 8, edits: '9', rounds: '' }])).toBe('unknown');
  });

  it('is the lifetime where nothing else is known to have been lost', () => {
    const own = { cause: 'move', trigger: 'turns' } as const;
    const none = read(20_000, 0);
    expect(missOf({}, { after: 90, usage: none })).toMatchObject({ cause: 'lifetime' });
    expect(missOf({}, { after: 90, usage: none, own })).toMatchObject({ cause: 'lifetime' });
    // What was read shows that the cache has lived on.
    expect(missOf({}, { after: 90, ...MISSED, own })).toMatchObject({ cause: 'move' });
    expect(missOf({}, { after: 1, usage: none })).toMatchObject({ cause: 'vendor' });
  });

  it('goes by the lifetime of what the request before has left', () => {
    const keptMs = 24 * 60 * MINUTE;
    const none = read(20_000, 0);
    expect(missOf({ keptMs }, { after: 90, usage: none })).toMatchObject({ cause: 'vendor' });
    expect(missOf({ keptMs }, { after: 90, usage: none, tools: 'other' })).toMatchObject({ cause: 'tools' });
    expect(missOf({ keptMs }, { after: 25 * 60, usage: none })).toMatchObject({ cause: 'lifetime' });
    expect(missOf({}, { after: 90, usage: none, keptMs })).toMatchObject({ cause: 'lifetime' });
  });

  it('is a prompt below the least one, or a mark that does not look back, where marks are needed', () => {
    const claude = { model: CLAUDE, writes: 1 };
    const unkept = { ...claude, usage: read(3_000, 0, 0) };
    expect(missOf(unkept, { ...claude, usage: read(3_200, 0, 0) })).toMatchObject({ cause: 'short' });
    const kept = { ...claude, usage: read(9_000, 0, 8_900) };
    const lost = { ...claude, usage: read(9_500, 0, 9_400) };
    expect(missOf(kept, lost)).toMatchObject({ cause: 'vendor', tokens: 8_900 });
    expect(missOf(kept, { ...lost, isFar: true })).toMatchObject({ cause: 'mark' });
    expect(missOf(kept, { ...lost, writes: 0 })).toMatchObject({ cause: 'mark' });
    // Nobody has set one.
    const unmarked = { model: CLAUDE, writes: 0, usage: read(9_000, 0, 0) };
    expect(missOf(unmarked, unmarked)).toBeNull();
  });

  it("is the vendor's verdict where there is one, with what is known of it here", () => {
    const own = { cause: 'move', trigger: 'turns' } as const;
    const said = (cache: 'tier' | 'input' | 'tools' | 'none', asked: Asked = {}) =>
      missOf({}, { ...MISSED, ...asked, verdict: { cache } });
    const by = 'vendor';
    expect(said('tier', { own })).toMatchObject({ cause: 'tier', by });
    expect(said('input', { own })).toMatchObject({ ...own, by });
    expect(said('input', { array: array(11).with(4, 'new') })).toMatchObject({
      cause: 'message',
      message: 4,
      by,
    });
    expect(said('input', { tools: 'other' })).toMatchObject({ cause: 'message', by });
    expect(said('tools', { ownTools: 'others' })).toMatchObject({ cause: 'own_tools', by });
    expect(said('tools', { own })).toMatchObject({ cause: 'tools', by });
    // What has changed is not why.
    expect(said('none', { tools: 'other' })).toMatchObject({ cause: 'vendor', by: 'precis' });
    expect(missOf({}, { verdict: { cache: 'tools' } })).toBeNull();
  });

  it('has the tokens that were left there, and what they have cost', () => {
    // $2 of fresh input, $0.50 of cached input per million tokens.
    expect(missOf({}, MISSED)).toMatchObject({ tokens: 19_968 - 2_048, amount: 17_920 * 1_500 });
    expect(missOf({}, { usage: read(12_000, 2_048) })).toMatchObject({ tokens: 12_000 - 2_048 });
    expect(missOf({}, { usage: { ...read(12_000, 0), output: null } })).toMatchObject({ amount: null });
  });

  it('is none where nothing was missed, or could have been read', () => {
    expect(course({}, {}, {}).map(({ miss }) => miss)).toEqual([null, null, null]);
    expect(missOf(MISSED)).toBeNull();
    expect(missOf({}, { tools: 'other' })).toBeNull();
    expect(missOf({}, { usage: read(20_000, 19_000), tools: 'other' })).toBeNull();
    expect(missOf({ usage: null }, MISSED)).toBeNull();
    expect(missOf({}, { usage: read(20_000, null) })).toBeNull();
    expect(missOf({}, { usage: null })).toBeNull();
    expect(missOf({}, { ...MISSED, model: 'unheard-of' })).toBeNull();
    // The answer before had not begun.
    expect(missOf({ ready: 1_000_000_000 + 2 * MINUTE }, MISSED)).toBeNull();
    // A request that is kept late.
    expect(missOf({ after: 2 }, { after: 1, ...MISSED })).toBeNull();
  });

  it('is found for each of several agents in one conversation', () => {
    const other = array(12).map((name) => `x${name.slice(1)}`);
    const causes = course({}, { array: other }, {}, { array: [...other, 'new'] }, MISSED).map(
      ({ miss }) => miss?.cause,
    );
    expect(causes).toEqual([undefined, undefined, undefined, undefined, 'vendor']);
  });

  it('is named exactly where one was planted in any course of requests', () => {
    const planted = fc.constantFrom(
      ...(['none', 'tools', 'effort', 'format', 'user', 'message', 'move', 'own_tools', 'vendor'] as const),
    );
    forAll(fc.array(fc.tuple(planted, fc.boolean(), fc.boolean()), { maxLength: 8 }), (steps) => {
      // Whatever has changed, nothing is named where nothing was missed.
      const plants = steps.map(([plant, , isMissed]) => (isMissed ? plant : 'none'));
      let view: NonNullable<Asked['view']> = {};
      let messages = array(10);
      let settings: Asked = {};
      const requests = steps.map(([plant, isKnown, isMissed], at): Asked => {
        messages = [...messages, `n${at}`.padEnd(3, '.')];
        if (plant === 'message') messages = messages.with(at, `e${at}`.padEnd(3, '.'));
        if (plant in NO_SETTINGS) settings = { ...settings, [plant]: `${at}` };
        if (plant === 'move') view = { edits: `${at}` };
        if (plant === 'own_tools') settings = { ...settings, ownTools: `${at}` };
        // Its isolate may know of a move, and take something for one that is none.
        const own = isKnown ? { own: { cause: 'move' } as const } : {};
        return {
          ...settings,
          view,
          array: messages,
          ...own,
          ...(plant === 'none' || !isMissed ? {} : MISSED),
        };
      });
      const found = course({ view: {} }, ...requests)
        .slice(1)
        .map(({ miss }) => miss?.cause ?? 'none');
      // The request after a miss finds what that one has left, which the rule of the model says.
      expect(found).toEqual(plants);
    });
  });
});

describe('reasoning that was dropped', () => {
  const sent = [3, 5, 7].map((at): [message: number, blocks: number] => [at, 2]);
  const thinks = { reasoning: { left: 0, sent } };
  const droppedOf = (...requests: readonly Asked[]) => course(...requests).at(-1)?.dropped;

  it('is all after the message that the caller has changed, and all after a setting', () => {
    expect(droppedOf(thinks, { ...thinks, array: array(11).with(4, 'new') })).toEqual({
      blocks: 4,
      cause: 'message',
      message: 4,
      by: 'precis',
    });
    for (const cause of ['tools', 'effort', 'format', 'user'] as const)
      expect(droppedOf(thinks, { ...thinks, [cause]: 'other' })).toMatchObject({ cause, blocks: 6 });
    expect(droppedOf(thinks, { ...thinks, key: 'other' })).toBeNull();
    expect(droppedOf(thinks, { ...thinks, array: array(11).with(9, 'new') })).toBeNull();
  });

  it('is also what led to the first answer that differs, if a message before it has left', () => {
    const asked = { ...thinks, array: [...array(7), 'now'] };
    const lost = { cause: 'message', by: 'precis' };
    expect(droppedOf(asked, { ...thinks, array: array(10) })).toEqual({ ...lost, blocks: 2, message: 7 });
    const earlier = sent.map(([at, blocks]) => [at - 1, blocks] as const);
    const without = { array: array(10).toSpliced(2, 1), reasoning: { left: 0, sent: earlier } };
    expect(droppedOf(thinks, without)).toEqual({ ...lost, blocks: 6, message: 2 });
    expect(droppedOf(thinks, { ...thinks, array: array(11).with(3, 'new') })).toMatchObject({ blocks: 4 });
  });

  it("is what the model of a request can't read of the one that has made it", () => {
    const asks = (model: string, blocks = sent): Asked => ({
      model,
      reasoning: { left: 0, sent: blocks, dropsUnread: true },
    });
    const lostIn = (...requests: readonly Asked[]) =>
      course(...requests).map(({ dropped }) => dropped && [dropped.cause, dropped.blocks]);
    const [fable, opus] = ['claude-fable-5-1', 'claude-opus-5-5'];
    const later = [...sent, [11, 1] as [number, number]];
    expect(lostIn(asks(fable), asks(opus), asks(opus, later), asks('claude-opus-5', later))).toEqual([
      null,
      ['model', 6],
      null,
      null,
    ]);
    // Its own thinking is read by Opus, and all of it by Fable.
    expect(lostIn(asks(fable), asks(opus), asks(fable, later), asks(opus, later))).toEqual([
      null,
      ['model', 6],
      null,
      ['model', 6],
    ]);
    expect(lostIn(asks('claude-fable-5'), asks(opus))).toEqual([null, null]);
    expect(lostIn(asks(opus), asks(fable), { ...asks(fable), tools: 'other' })).toEqual([null, null, null]);
  });

  it('has a cause that is no key of the cache, whatever key each request has', () => {
    const other = { ...thinks, key: 'other' };
    expect(droppedOf(thinks, { ...other, tools: 'other' })).toMatchObject({ cause: 'tools', blocks: 6 });
    expect(droppedOf(thinks, { ...other, array: array(11).with(4, 'new') })).toMatchObject({
      cause: 'message',
      message: 4,
      blocks: 4,
    });
    const own = { cause: 'move', trigger: 'turns' } as const;
    const less = { reasoning: { left: 4, sent: sent.slice(2) }, key: 'other', own };
    expect(droppedOf(thinks, less)).toMatchObject({ ...own, blocks: 4 });
    const verdict = { dropped: { blocks: 2 } };
    expect(droppedOf(thinks, { ...other, verdict })).toEqual({ blocks: 2, cause: 'message', by: 'vendor' });
  });

  it('is lost once, whatever is edited later, and however it leaves', () => {
    const early = { ...thinks, array: array(11).with(4, 'new') };
    const again = { ...thinks, array: array(12).with(4, 'old') };
    const earlier = { ...thinks, array: array(13).with(2, 'new') };
    const later = { ...thinks, array: [...array(13).with(2, 'new'), 'end'] };
    const moved = { reasoning: { left: 5, sent: [[9, 1] as const] }, own: { cause: 'move' } as const };
    const lost = course(thinks, early, again, earlier, later, { ...moved, array: later.array });
    expect(lost.map(({ dropped }) => dropped?.blocks)).toEqual([
      undefined,
      4,
      undefined,
      2,
      undefined,
      undefined,
    ]);
  });

  it('is lost once, however much there is, where a caller edits the first message in each request', () => {
    const asks = (steps: number, at: number): Asked => ({
      array: array(1 + 2 * steps).with(0, `t${at}`.padEnd(3, '.')),
      reasoning: { left: 0, sent: Array.from({ length: steps }, (_, step) => [1 + 2 * step, 1] as const) },
    });
    const lost = course(asks(300, 0), asks(301, 1), asks(302, 2), asks(303, 3));
    expect(lost.map(({ dropped }) => dropped?.blocks)).toEqual([undefined, 301, 1, 1]);
    // A move takes most of them along, which are lost already, and one that was not.
    const own = { cause: 'move', trigger: 'turns' } as const;
    const rest = { left: 301, sent: [[603, 1] as const] };
    const moved = { ...asks(302, 1), reasoning: rest, own };
    expect(droppedOf(asks(300, 0), asks(301, 1), moved)).toBeNull();
    const later = { ...asks(303, 1), reasoning: { left: 302, sent: [[605, 1] as const] }, own };
    expect(droppedOf(asks(300, 0), asks(301, 1), later)).toMatchObject({ blocks: 1 });
  });

  it('is all that was sent after a change of Precis that its isolate does not know of', () => {
    const edited = { ...thinks, view: { edits: 'one' } };
    const other = { ...thinks, view: { edits: 'other' } };
    const move = { cause: 'move', by: 'precis' } as const;
    expect(droppedOf(edited, other)).toEqual({ ...move, blocks: 6 });
    expect(droppedOf(edited, { ...other, own: { cause: 'unread' } })).toMatchObject({
      cause: 'unread',
      blocks: 6,
    });
    expect(droppedOf(edited, { ...edited, own: { cause: 'unread' } })).toBeNull();
    // What its isolate knows of has left already.
    const less = { reasoning: { left: 4, sent: sent.slice(2) } };
    expect(droppedOf(edited, { ...other, ...less })).toEqual({ ...move, blocks: 4 });
    expect(droppedOf(edited, { ...other, ...less, own: { cause: 'move' } })).toEqual({ ...move, blocks: 4 });
    expect(droppedOf(edited, { ...other, own: { cause: 'move' } })).toBeNull();
  });

  it('is what a move has newly left out, once', () => {
    const own = { cause: 'move', trigger: 'turns' } as const;
    const less = { reasoning: { left: 4, sent: sent.slice(2) } };
    const found = course(thinks, { ...less, own }, less, { ...less, own }).map(({ dropped }) => dropped);
    expect(found).toEqual([null, { blocks: 4, ...own, by: 'precis' }, null, null]);
    // What had left before the move, and what leaves beside a memory without one.
    expect(droppedOf({ reasoning: { left: 4, before: 3 }, own })).toMatchObject({ blocks: 1 });
    expect(droppedOf(less, { reasoning: { left: 6 } })).toEqual({ blocks: 2, cause: 'move', by: 'precis' });
    expect(droppedOf({ reasoning: { left: 6 } })).toBeNull();
  });

  it('is what the vendor says, with the cause that is known', () => {
    const verdict = { dropped: { blocks: 1 } };
    const by = 'vendor';
    expect(droppedOf(thinks, { ...thinks, verdict })).toEqual({ blocks: 1, cause: 'message', by });
    expect(droppedOf(thinks, { ...thinks, tools: 'other', verdict })).toEqual({
      blocks: 1,
      cause: 'tools',
      by,
    });
    const ofModel = { dropped: { blocks: 2, part: 'model' as const } };
    expect(droppedOf(thinks, { ...thinks, tools: 'other', verdict: ofModel })).toEqual({
      blocks: 2,
      cause: 'model',
      by,
    });
  });

  it('is said by the vendor in each answer, and lost once', () => {
    const says = (blocks: number) => ({ ...thinks, verdict: { dropped: { blocks } } });
    const edited = { array: array(11).with(4, 'new') };
    const longer = { array: [...edited.array, 'end'] };
    const again = { array: [...longer.array, 'one'] };
    const found = course(
      thinks,
      { ...says(3), ...edited },
      { ...says(3), ...longer },
      { ...says(5), ...again },
    );
    expect(found.map(({ dropped }) => dropped)).toEqual([
      null,
      { blocks: 3, cause: 'message', message: 4, by: 'vendor' },
      null,
      { blocks: 2, cause: 'message', by: 'vendor' },
    ]);
  });

  it('is lost once where some answers are cut short before the vendor says it, or too long', () => {
    const says = (blocks?: number) =>
      blocks === undefined ? thinks : { ...thinks, verdict: { dropped: { blocks } } };
    const blocksOf = (edited: Asked, ...rest: readonly Asked[]) => {
      const longer = (steps: number) => ({ array: [...array(11).with(4, 'new'), ...array(steps)] });
      const all = rest.map((asked, at) => ({ ...asked, ...longer(at + 1) }));
      return course(thinks, { ...edited, ...longer(0) }, ...all).map(({ dropped }) => dropped?.blocks);
    };
    expect(blocksOf(says(3), says(), says(3), says(4))).toEqual([undefined, 3, undefined, undefined, 1]);
    // What Precis has named by itself, the vendor names again.
    expect(blocksOf(says(), says(4), says(), says(5))).toEqual([undefined, 4, undefined, undefined, 1]);
    // Of what leaves with a move, two blocks were invalid, and are listed no more.
    const moved = { reasoning: { left: 4, sent: sent.slice(2) }, own: { cause: 'move' } as const };
    const { reasoning } = moved;
    const listed = (blocks: number) => ({ reasoning, verdict: { dropped: { blocks } } });
    expect(blocksOf(says(4), moved, listed(2), listed(3))).toEqual([undefined, 4, 2, undefined, 1]);
  });

  it('is none that the vendor says it has kept, beside what Precis has left out', () => {
    const verdict = { dropped: { blocks: 0 } };
    expect(droppedOf(thinks, { ...thinks, array: array(11).with(4, 'new'), verdict })).toBeNull();
    const own = { cause: 'move', trigger: 'turns' } as const;
    const less = { reasoning: { left: 4, sent: sent.slice(2) } };
    expect(droppedOf(thinks, { ...less, own, verdict })).toEqual({ blocks: 4, ...own, by: 'precis' });
  });
});
