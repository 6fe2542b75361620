import { describe, expect, it } from 'vitest';
import { isolateMemory } from '../../../src/request/beliefs.ts';
import { BODY_LIMITS, limitAfter, limitOfHost, noteBytes } from '../../../src/upstream/body-limits.ts';
import { readTooLarge } from '../../../src/upstream/too-large.ts';
import { openai } from './refusals.ts';

const SENT = 20_000_000;
const anthropic = (message: string): string =>
  JSON.stringify({ type: 'error', error: { type: 'request_too_large', message } });

describe('an error that says that the body is too large', () => {
  it.each<[server: string, status: number, body: string, limit: number | undefined]>([
    ['nginx', 413, '<html><head><title>413 Request Entity Too Large</title></head></html>', undefined],
    ['Anthropic', 413, anthropic('Request exceeds the maximum size'), undefined],
    ['Anthropic in numbers', 413, anthropic('Request too large (max 16 MB)'), 16_000_000],
    [
      "Alibaba's gateway",
      413,
      JSON.stringify({
        code: 'RequestEntityTooLarge',
        message: 'Request body size exceeds maximum allowed size: 10485760 bytes',
      }),
      10_485_760,
    ],
    [
      'Alibaba with a bad request',
      400,
      openai('Error from provider (Alibaba): Exceeded limit on max bytes to request body : 6291456', null, {
        type: 'BadRequest.TooLarge',
      }),
      6_291_456,
    ],
    [
      'a proxy of Codex',
      413,
      openai('response.create is too large for upstream websocket (20000000 bytes > 15728640 bytes).'),
      15_728_640,
    ],
    [
      'text-generation-inference',
      400,
      openai('Failed to buffer the request body: length limit exceeded'),
      undefined,
    ],
    // https://github.com/MoonshotAI/kimi-code/issues/476
    ['Moonshot', 400, openai('total message size 10176584 exceeds limit 2097152'), 2_097_152],
    ['xAI', 400, openai('Sent message larger than max (20000000 vs. 15728640)'), 15_728_640],
    ['express', 413, openai('request entity too large'), undefined],
    ['a small gateway', 413, openai('Request body too large. Max 50KB allowed.'), 50_000],
    ['a limit that is no less than what was sent', 413, openai('Request too large (max 32 MB)'), undefined],
  ])('%s', (_, status, body, limit) => {
    expect(readTooLarge(status, body, SENT)).toEqual(limit === undefined ? {} : { limit });
  });

  it.each<[what: string, status: number, body: string]>([
    [
      "Groq's rate in tokens",
      413,
      openai(
        'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 12328',
        'rate_limit_exceeded',
      ),
    ],
    ['a prompt that is too long', 413, openai('prompt is too long: 210000 tokens > 200000 maximum')],
    ['one image', 400, openai('image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes')],
    ['a bad request', 400, openai('Unknown parameter.')],
    ['HTML with a bad request', 400, '<html>request too large</html>'],
    ['words of the request', 400, openai("Invalid value: 'request too large'.")],
    ['another status', 500, openai('request entity too large')],
  ])('but not %s', (_, status, body) => {
    expect(readTooLarge(status, body, SENT)).toBeUndefined();
  });
});

describe('a limit of bytes', () => {
  it('is what was stated, or less than what was refused', () => {
    expect(limitAfter(6_291_456, SENT)).toBe(6_291_456);
    expect(limitAfter(undefined, SENT)).toBe(15_000_000);
    expect(limitAfter(32_000_000, SENT)).toBe(15_000_000);
  });

  it('is known of vendors, by their hosts, and the lowest one holds', () => {
    for (const { host, bytes } of BODY_LIMITS) expect(limitOfHost(host, undefined)).toBe(bytes);
    expect(limitOfHost('bedrock-runtime.us-east-1.amazonaws.com', undefined)).toBe(20_000_000);
    expect(limitOfHost('notdashscope.aliyuncs.com', undefined)).toBeUndefined();
    expect(limitOfHost('api.anthropic.com', 5_000_000)).toBe(5_000_000);
    expect(limitOfHost('localhost', 5_000_000)).toBe(5_000_000);
  });

  it('is remembered by tenant and upstream, for an hour, and gives way to a lower one', () => {
    let now = 0;
    const limits = isolateMemory(() => now).of('learnedSizes');
    noteBytes(limits, 'tenant', 'https://one', 5_000_000);
    noteBytes(limits, 'tenant', 'https://one', 6_000_000);
    noteBytes(limits, 'tenant', 'https://two', 10);
    expect(limits.get('tenant', 'https://one')?.value).toBe(5_000_000);
    expect(limits.get('tenant', 'https://two')).toBeUndefined();
    expect(limits.get('other', 'https://one')).toBeUndefined();
    now = 60 * 60 * 1_000 + 1;
    expect(limits.get('tenant', 'https://one')).toBeUndefined();
  });
});
