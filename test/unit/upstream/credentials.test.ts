import { describe, expect, it } from 'vitest';
import { ANTHROPIC, OPENAI } from '../../../src/upstream/api.ts';
import { otherKeys, withoutKeys } from '../../../src/upstream/credentials.ts';

const BEARER = { authorization: 'Bearer sk-the-key-of-a-caller' };

describe('keys beside the caller’s', () => {
  it.each([
    'x-api-key',
    'api-key',
    'apikey',
    'cookie',
    'x-goog-api-key',
    'ocp-apim-subscription-key',
    'x-functions-key',
    'x-portkey-api-key',
    'x-portkey-config',
    'helicone-auth',
    'cf-aig-authorization',
    'x-auth-token',
    'x-amz-security-token',
    'private-token',
    'x-client-secret',
    'x-client-cert',
    'x-bf-vk',
    'x-password',
  ])('may be in the header %s', (name) => {
    expect(otherKeys(new Headers({ ...BEARER, [name]: 'another' }), OPENAI)).toEqual([name]);
  });

  it('may be in any header that says how it is to be read', () => {
    const headers = new Headers({ ...BEARER, 'x-gateway': 'Bearer another', 'x-door': 'Basic YTpi' });
    expect(otherKeys(headers, OPENAI)).toEqual(['x-door', 'x-gateway']);
  });

  it('are not in what usual clients send', () => {
    const headers = new Headers({
      ...BEARER,
      'user-agent': 'OpenAI/JS 6.9.1',
      'x-stainless-package-version': '6.9.1',
      'x-stainless-runtime-version': 'v24.1.0',
      'idempotency-key': 'once',
      'openai-organization': 'org-1',
      'openai-beta': 'assistants=v2',
      'x-session-id': 'ses_1',
      'x-opencode-session': 'ses_1',
      originator: 'codex_cli_rs',
      version: '0.99.0',
      'chatgpt-account-id': 'account',
      'http-referer': 'https://cline.bot',
      'x-title': 'Cline',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'cf-aig-cache-key': 'c',
      'x-api-key': '',
    });
    expect(otherKeys(headers, OPENAI)).toEqual([]);
    const messages = new Headers({
      'x-api-key': 'k',
      authorization: 'Bearer k',
      'api-key': 'k',
      'anthropic-version': '2023-06-01',
      'anthropic-dangerous-direct-browser-access': 'true',
      'x-app': 'cli',
    });
    expect(otherKeys(messages, ANTHROPIC)).toEqual([]);
  });

  it('may be in any parameter but those for versions', () => {
    expect(withoutKeys('?api-version=1&key=2&%61pi-version=3&b=4')).toBe('?api-version=1&%61pi-version=3');
    expect(withoutKeys('?beta=true')).toBe('?beta=true');
    for (const search of ['', '?', '?key=1', '?code=1&sig=2']) expect(withoutKeys(search)).toBe('');
  });
});
