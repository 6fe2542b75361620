import { describe, expect, it } from 'vitest';
import {
  describeHits,
  readSearch,
  searchConversationDefinition,
  searchDefinitionOf,
} from '../../../src/retrieval/search-memory.ts';
import type { ArchiveHit, ArchiveHits } from '../../../src/storage/archive/search.ts';
import { lines } from '../../support/conversations/chat.ts';
import { counter } from '../../support/laws/view-of.ts';

const hit = (position: number, role: string, excerpt: string): ArchiveHit => ({ position, role, excerpt });
const described = (hits: ArchiveHit[], meaning: ArchiveHits['meaning'] = 'off'): string =>
  describeHits({ hits, meaning }, counter);

describe('what a search has found', () => {
  it('is one block for each hit, in their order', () => {
    const hits = [hit(7, 'user', 'the white whale'), hit(2, 'assistant', '… a ship\nand a whale …')];

    expect(described(hits)).toBe('[7 user] the white whale\n\n[2 assistant] … a ship\nand a whale …');
  });

  it('is cut to 4000 tokens, and says so', () => {
    const hits = Array.from({ length: 10 }, (_, position) => hit(position, 'tool', lines(60)));

    const [shown = '', note, ...more] = described(hits).split('\n[cut here');

    expect(hits.map(({ excerpt }) => `[0 tool] ${excerpt}`)[0]).toBe(shown.split('\n\n')[0]);
    expect(note).toContain('search for more words');
    expect(more).toEqual([]);
    expect(counter.text(shown)).toBeLessThanOrEqual(4_000);
    expect(counter.text(shown)).toBeGreaterThan(3_900);
  });

  it('may be nothing', () => {
    expect(described([])).toContain('No message holds all of these words');
    expect(described([], 'used')).toContain('or is about them');
  });

  it('says that it was found by words alone where it should have gone by meaning', () => {
    const note = '\n\n[found by words alone: the search for similar meanings does not answer at the moment]';

    expect(described([hit(7, 'user', 'a whale')], 'failed')).toBe(`[7 user] a whale${note}`);
    expect(described([], 'failed')).toBe(`${described([])}${note}`);
    expect(described([hit(7, 'user', 'a whale')], 'used')).toBe('[7 user] a whale');
  });
});

describe('the definition of search_memory', () => {
  it('says to a model what its deployment searches by, in nothing else', () => {
    const [words, meaning] = [
      searchDefinitionOf('search_memory', 'words').function,
      searchDefinitionOf('search_memory', 'meaning').function,
    ];

    expect(words.description).toContain('in no other form');
    expect(meaning.description).toContain('similar meaning');
    const described = { description: '', parameters: { properties: { query: { description: '' } } } };
    const bare = (tool: object) => ({ ...tool, ...described });
    expect(bare(words)).toEqual(bare(meaning));
  });

  it('asks a model for words alone, and somebody without a conversation for that too', () => {
    const { parameters, ...model } = searchDefinitionOf('search_memory', 'words').function;
    const { parameters: more, ...anybody } = searchConversationDefinition('words').function;

    expect(anybody).toEqual(model);
    expect(Object.keys(parameters.properties)).toEqual(['query']);
    expect(Object.keys(more.properties)).toEqual(['query', 'conversation_id', 'user']);
    expect(more.properties).toMatchObject(parameters.properties);
    expect([parameters.required, more.required]).toEqual([['query'], ['query']]);
  });
});

describe('arguments of a search', () => {
  const nobody = { scope: 'conversation', conversation: undefined, user: undefined };

  it.each<[string, object]>([
    ['{"query":"a whale"}', { query: 'a whale' }],
    ['{"query":" a whale\\n"}', { query: 'a whale' }],
    ['{"query":"a","conversation_id":"","user":null}', { query: 'a' }],
    ['{"query":"a","scope":""}', { query: 'a' }],
    ['{"query":"a","scope":"user"}', { query: 'a', scope: 'user' }],
    ['{"query":"a","conversation_id":"b","user":"c"}', { query: 'a', conversation: 'b', user: 'c' }],
  ])('%s are read', (json, read) => {
    expect(readSearch(json)).toEqual({ ok: true, value: { ...nobody, ...read } });
  });

  it.each([
    '',
    'null',
    '{}',
    '{"query":""}',
    '{"query":"  "}',
    '{"query":["a"]}',
    `{"query":"${'x'.repeat(257)}"}`,
    '{"query":"a","conversation_id":1}',
    '{"query":"a","scope":"tenant"}',
  ])('%s are refused in words', (json) => {
    expect(readSearch(json)).toEqual({ ok: false, reason: expect.stringContaining('Call again') });
  });
});
