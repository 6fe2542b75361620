import { describe, expect, it } from 'vitest';
import {
  END_LABELS,
  FATE_LABELS,
  HEALTH_LABELS,
  KEPT_LABELS,
  labelOf,
  MODE_LABELS,
  modeSentence,
  PROTOCOL_LABELS,
  REASON_LABELS,
  REMOVED_LABELS,
  REQUEST_KIND_LABELS,
  SOURCE_LABELS,
  STATUS_LABELS,
  SUMMARY_LABELS,
  VERSION_LABELS,
  WARNING_LABELS,
  warningSentence,
} from '../../../inspector/read/codes.ts';
import { TERMS } from '../../../inspector/read/words.ts';
import { FATES, REMOVAL_KINDS, REMOVAL_REASONS } from '../../../src/memory/edits/fates.ts';
import { MODE_NAMES } from '../../../src/memory/modes/meanings.ts';
import { explanationSchema } from '../../../src/memory/plan/explanation-schema.ts';
import { SOURCES } from '../../../src/memory/plan/report-schema.ts';
import { WARNINGS } from '../../../src/memory/plan/warnings.ts';
import { refusalSchema, TRIGGERS } from '../../../src/memory/replay/reasons.ts';
import { runEventSchema } from '../../../src/memory/run/event.ts';
import { PHASE_LABELS, REFUSED_LABELS, TRIGGER_LABELS } from '../../../src/memory/run/why.ts';
import { listedConversation } from '../../../src/reference/schemas/conversations.ts';
import { healthSchema, versionSchema } from '../../../src/storage/conversation/memory-schema.ts';

const { shape: event } = runEventSchema;

/** Each set of codes that a screen shows, as the Worker's own schemas have it. */
const SETS: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>])[] = [
  ['fates', FATES, FATE_LABELS],
  ['triggers', TRIGGERS, TRIGGER_LABELS],
  ['warnings', Object.keys(WARNINGS), WARNING_LABELS],
  ['modes', MODE_NAMES, MODE_LABELS],
  ['sources', SOURCES, SOURCE_LABELS],
  ['kinds of removals', REMOVAL_KINDS, REMOVED_LABELS],
  ['reasons of removals', Object.keys(REMOVAL_REASONS), REASON_LABELS],
  [
    'reasons why messages stay',
    explanationSchema.shape.messages.element.shape.because.unwrap().options,
    KEPT_LABELS,
  ],
  ['phases', refusalSchema.shape.phase.options, PHASE_LABELS],
  ['reasons of refusals', refusalSchema.shape.because.exclude(['nothing_to_free']).options, REFUSED_LABELS],
  ['ends of answers', event.ended.options, END_LABELS],
  ['protocols', event.protocol.options, PROTOCOL_LABELS],
  ['kinds of requests', event.kind.options, REQUEST_KIND_LABELS],
  ['summaries of requests', event.summary.unwrap().shape.status.options, SUMMARY_LABELS],
  ['versions of summaries', versionSchema.shape.status.options, VERSION_LABELS],
  ['states of conversations', listedConversation.shape.status.options, STATUS_LABELS],
  ['health', healthSchema.options, HEALTH_LABELS],
];

describe('the words of the page', () => {
  it.each(SETS)('label each of the codes and no other (%s)', (_, codes, labels) => {
    expect(codes.length).toBeGreaterThan(1);
    expect(Object.keys(labels).toSorted()).toEqual([...codes].toSorted());
  });

  it.each(SETS)('are plain words and no names of codes (%s)', (_, codes, labels) => {
    for (const code of codes) {
      const label = labelOf(labels, code);
      expect(label).not.toMatch(/_/);
      expect([code, code.replaceAll('_', ' ')]).not.toContain(label.toLowerCase());
    }
    expect(new Set(Object.values(labels)).size).toBe(codes.length);
  });

  it('say a sentence about each warning, each mode and each term', () => {
    const sentences = [
      ...Object.keys(WARNINGS).map(warningSentence),
      ...MODE_NAMES.map(modeSentence),
      ...Object.values(TERMS).map(({ says }) => says),
    ];
    for (const sentence of sentences) expect(sentence).toMatch(/^[^a-z].*\.$/);
  });

  it('show a code of another version with spaces', () => {
    expect(labelOf(WARNING_LABELS, 'a_new_one')).toBe('a new one');
    expect(labelOf(WARNING_LABELS, 'toString')).toBe('toString');
    expect(warningSentence('a_new_one')).toBeUndefined();
    expect(modeSentence('constructor')).toBeUndefined();
  });
});
