import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { largestInputOf, longestAnswerOf, measureOf, windowOf } from '../../../../src/memory/models/facts.ts';
import { createTokenCounter, loadTokenize, toolTokens } from '../../../../src/memory/tokens/tokens.ts';
import { read, user } from '../../../support/conversations/chat.ts';
import { forAll } from '../../../support/laws/runs.ts';

const tokenize = await loadTokenize('o200k_base');
const counter = createTokenCounter(tokenize);
const bytes = (text: string): number => new TextEncoder().encode(text).length;

describe('the token counter', () => {
  it('never finds more tokens than bytes', () => {
    forAll(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      expect(counter.text(text)).toBeLessThanOrEqual(bytes(text));
    });
  });

  it('agrees with the tokenizer on text without long runs', () => {
    const text = 'The quick brown fox, 12345 times; for (const x of [1, 2]) { console.log(x); }\n'.repeat(50);
    expect(counter.text(text)).toBe(tokenize(text));
  });

  it.each([
    ['letters', 'a'],
    ['capitals and smalls', 'aA'],
    ['spaces', ' '],
    ['dashes', '-='],
    ['Chinese', '漢字仮名'],
    ['surrogate pairs', '😀'],
    ['combining marks', 'e\u0301'],
    ['line breaks', '\n'],
    ['slashes and line breaks', '/\n'],
  ])('cuts runs of %s before the tokenizer sees them', (_, unit) => {
    const seen: number[] = [];
    const watched = createTokenCounter((text) => seen.push(text.length));
    watched.text(unit.repeat(20_000));
    expect(Math.max(...seen)).toBeLessThanOrEqual(130);
  });

  it('F3: hands the tokenizer texts in blocks, and counts as if it had them whole', () => {
    const prose =
      'The quick brown fox, 12345 times; don’t (ever)\n\n    jump \t over\r\n/etc/hosts: x = [1, 2];\n';
    const text = Array.from({ length: 600 }, (_, at) => `${at} ${prose.slice(at % 40)}`).join('');
    for (const from of [0, 1, 2, 3, 1_000]) {
      const lengths: number[] = [];
      const watched = createTokenCounter((block) => {
        lengths.push(block.length);
        return tokenize(block);
      });
      expect(watched.text(text.slice(from))).toBe(tokenize(text.slice(from)));
      expect(Math.max(...lengths)).toBeLessThanOrEqual(4_097);
      expect(lengths.length).toBeGreaterThan(5);
    }
  });

  it.each<[string, (at: number) => string]>([
    ['JSON without white space', (at) => `{"id":"row-${at * 7919}","it's":${at / 7}},`],
    ['words of one case with apostrophes', (at) => `don't${at}'ll/we've.`],
  ])('F3: counts %s as the tokenizer does', (_, write) => {
    const text = Array.from({ length: 5_000 }, (_, at) => write(at)).join('');
    expect(counter.text(text)).toBe(tokenize(text));
  });

  it('F3: counts a script without spaces nearly as the tokenizer does', () => {
    const text = Array.from({ length: 40_000 }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 900)))
      .join('')
      .replace(/.{40}/g, '$&。');
    expect(Math.abs(counter.text(text) - tokenize(text))).toBeLessThanOrEqual(2 * (text.length / 4_096));
  });

  it.each([
    ['letters', 'a'],
    ['Chinese', '漢'],
    ['surrogate pairs', '😀'],
    ['spaces', ' '],
    ['dashes', '-'],
  ])('F3: counts a run of six million %s', (_, unit) => {
    let characters = 0;
    const length = createTokenCounter((text) => {
      characters += text.length;
      return 1;
    });
    expect(length.text(unit.repeat(6_000_000))).toBeGreaterThan(40_000);
    expect(characters).toBe(6_000_000 * unit.length);
  });

  it('takes the spelling of a special token for text', () => {
    expect(counter.text('<|endoftext|>')).toBeGreaterThan(1);
  });

  it('counts a message once, by its digest', () => {
    let counted = 0;
    const once = createTokenCounter((text) => {
      counted++;
      return text.length;
    });
    const [first, second] = read([user('the same'), user('the same')]);
    if (!first || !second) throw new Error('two messages were written');
    expect(once.message(first)).toBe(once.message(second));
    expect(counted).toBe(1);
  });

  it('counts a message anew for another tokenizer, and back again', () => {
    const [message] = read([user('the same words')]);
    if (!message) throw new Error('a message was written');
    const one = createTokenCounter((text) => text.length);
    const other = createTokenCounter((text) => 2 * text.length);
    const [few, many] = [one.content(message), other.content(message)];
    expect([few, many]).toEqual([14, 28]);
    expect([one.content(message), other.content(message)]).toEqual([few, many]);
    expect(other.message(message) - one.message(message)).toBe(14);
  });

  it('does not take a message for the tools of the same bytes', () => {
    const [message] = read([user('x')]);
    if (!message) throw new Error('a message was written');
    const own = createTokenCounter((text) => text.length);
    own.message(message);
    const tools = { count: 1, bytes: 1, digest: message.digest, text: () => 'a'.repeat(100) };
    expect(toolTokens(tools, own)).toBe(100 + 7 + 12);
  });

  it('adds the overhead of messages and of tools', () => {
    const [message] = read([user('hello')]);
    expect(message && counter.message(message)).toBe(5);
    const tools = { count: 2, bytes: 10, digest: 'd', text: () => 'hello' };
    expect(toolTokens(tools, counter)).toBe(1 + 2 * 7 + 12);
    expect(toolTokens(undefined, counter)).toBe(0);
  });
});

describe('the encoding of a model', () => {
  it.each([
    ['gpt-4o', 128_000],
    ['openai/gpt-4o', 128_000],
    ['GPT-4o', 128_000],
    ['openai/gpt-4o:nitro', 128_000],
    ['ft:gpt-4o-2024-08-06:acme::id', 128_000],
    ['openai/ft:GPT-4.1-mini-2025-04-14:acme:name:id', 1_047_576],
    ['ft:', 400_000],
    [':free', 400_000],
    ['gpt-4.1-mini', 1_047_576],
    ['anthropic/claude-sonnet-4-5', 200_000],
    ['openai/gpt-6.2-sol', 1_050_000],
    ['gpt-5.6', 1_050_000],
    ['anthropic/claude-opus-5.5', 1_000_000],
    ['claude-haiku-5-5', 1_000_000],
    ['x-ai/grok-4.6', 500_000],
    ['grok-4-7', 500_000],
    ['google/gemini-4-argon', 1_048_576],
    ['grok-4-0709', 256_000],
    ['moonshotai/kimi-k2.6', 262_144],
    ['GLM-5.3-flash', 1_000_000],
    ['my-own-model', 400_000],
    ['default', 400_000],
    ['__proto__', 400_000],
    [undefined, 400_000],
  ])('%s has a window of %i tokens', (model, window) => {
    expect(windowOf(model)).toBe(window);
  });

  it('takes less input than its window where its vendor says so, and the deployer does not', () => {
    expect(largestInputOf('openai/gpt-6.2-sol')).toBe(922_000);
    expect(largestInputOf('gpt-4.1')).toBeUndefined();
    expect(largestInputOf('gpt-6.2-sol', [{ family: 'gpt-6', window: 2_000_000 }])).toBeUndefined();
  });

  it('has the window and the longest answer that the deployer says, of the longest family', () => {
    const windows = [
      { family: 'my-', window: 8_000 },
      { family: 'My-Large', window: 32_000, output: 4_000 },
      { family: 'gpt-4o', window: 64_000 },
    ];
    expect(windowOf('me/my-large-2', windows)).toBe(32_000);
    expect(longestAnswerOf('my-large-2', windows)).toBe(4_000);
    expect(windowOf('my-small', windows)).toBe(8_000);
    expect(longestAnswerOf('my-small', windows)).toBeUndefined();
    expect(windowOf('gpt-4o-mini', windows)).toBe(64_000);
    expect(longestAnswerOf('gpt-4o-mini', windows)).toBe(16_384);
    expect(windowOf('gpt-4.1', windows)).toBe(1_047_576);
    expect(windowOf('ft:gpt-4o:acme::id', windows)).toBe(64_000);
    expect(windowOf('ft:gpt-4o:acme::id', [...windows, { family: 'ft:gpt-4o', window: 48_000 }])).toBe(
      48_000,
    );
  });

  it.each([
    ['gpt-4', 'cl100k_base'],
    ['gpt-4-turbo', 'cl100k_base'],
    ['gpt-3.5-turbo', 'cl100k_base'],
    ['ft:gpt-3.5-turbo-0125:acme::id', 'cl100k_base'],
    ['GPT-4', 'cl100k_base'],
    ['gpt-4o-mini', 'o200k_base'],
    ['gpt-4.1', 'o200k_base'],
    ['gpt-5', 'o200k_base'],
    [undefined, 'o200k_base'],
    ['claude-sonnet-4-5', 'o200k_base*1.25'],
    ['anthropic/claude-opus-4-7', 'o200k_base*1.63'],
    ['gemini-2.5-pro', 'o200k_base*1.05'],
    ['meta-llama/Llama-3.3-70B-Instruct', 'o200k_base*1.02'],
    ['Qwen/Qwen3-32B', 'o200k_base*1.05'],
    ['deepseek-chat', 'o200k_base*1.02'],
  ] as const)('%s is counted with %s', (model, measure) => {
    expect(measureOf(model)).toBe(measure);
  });

  it('takes the longest family of the deployer, before its own', () => {
    const factors = [
      { family: 'claude-', factor: 1.1 },
      { family: 'Claude-haiku', factor: 1 },
      { family: 'gpt-4', factor: 2 },
    ];
    expect(measureOf('claude-sonnet-4-5', undefined, factors)).toBe('o200k_base*1.1');
    expect(measureOf('anthropic/claude-haiku-4-5', undefined, factors)).toBe('o200k_base');
    expect(measureOf('gpt-4-turbo', undefined, factors)).toBe('cl100k_base*2');
    expect(measureOf('gemini-2.5-pro', undefined, factors)).toBe('o200k_base*1.05');
  });

  it('takes the estimator of a strategy as it is', () => {
    const factors = [{ family: 'claude-', factor: 3 }];
    expect(measureOf('claude-sonnet-4-5', 'o200k', factors)).toBe('o200k_base');
    expect(measureOf('gpt-4.1', 'cl100k', factors)).toBe('cl100k_base');
    expect(measureOf(undefined, 'chars/4')).toBe('chars/4');
  });
});

describe('a measure', () => {
  it('multiplies what its encoding counts, and rounds up', async () => {
    const more = createTokenCounter(await loadTokenize('o200k_base*1.25'));
    forAll(50, fc.string({ unit: 'grapheme', maxLength: 6_000 }), (text) => {
      const tokens = 1.25 * counter.text(text);
      expect(more.text(text)).toBe(Math.ceil(tokens));
    });
  });

  it('is a quarter of the characters, rounded up', async () => {
    const estimated = createTokenCounter(await loadTokenize('chars/4'));
    for (const length of [0, 1, 4, 5, 1_001, 9_999])
      expect(estimated.text('x '.repeat(length).slice(0, length))).toBe(Math.ceil(length / 4));
  });

  it('has one function, so that what was learned by it is found again', async () => {
    expect(await loadTokenize('o200k_base*1.25')).toBe(await loadTokenize('o200k_base*1.25'));
    expect(await loadTokenize('o200k_base*1.25')).not.toBe(await loadTokenize('o200k_base'));
  });
});
