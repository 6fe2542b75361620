import { describe, expect, it } from 'vitest';
import {
  ANTHROPIC,
  apiOf,
  isAnthropic,
  isAzure,
  isOpenAi,
  keysIn,
  OPENAI,
} from '../../../src/upstream/api.ts';
import { forwardedSearch, requestHeaders, responseHeaders } from '../../../src/upstream/request.ts';

const bearer = { authorization: 'Bearer key-of-the-bearer' };
const own = { 'x-api-key': 'key-of-its-own' };
const version = { 'anthropic-version': '2023-06-01' };

describe('the server of a base URL', () => {
  it.each([
    ['https://api.openai.com/v1', true, false],
    ['https://eu.API.openai.com:443/v1', true, false],
    ['https://api.openai.com./v1', true, false],
    ['https://api.openai.com.example.com/v1', false, false],
    ['https://api.openai.com@example.com/v1', false, false],
    ['https://myapi.openai.com/v1', false, false],
    ['https://api.anthropic.com/v1', false, true],
    ['https://API.anthropic.com./v1', false, true],
    ['https://gateway.api.anthropic.com/v1', false, false],
  ])('%s', (url, openAi, anthropic) => {
    expect([isOpenAi(url), isAnthropic(url)]).toEqual([openAi, anthropic]);
  });

  it.each([
    ['https://a-resource.openai.azure.com/openai/v1', true],
    ['https://a-resource.services.ai.azure.com/openai/v1/', true],
    ['https://a-resource.cognitiveservices.azure.com/openai/deployments/gpt-4o', true],
    ['https://a-resource.azure-api.net/openai', false],
    ['https://openai.azure.com.example.com/v1', false],
    ['https://a-resource.openai.azure.com@example.com/v1', false],
  ])('%s: Azure’s own %s', (url, azure) => {
    expect(isAzure(url)).toBe(azure);
  });
});

describe('the API that a request speaks', () => {
  it.each([
    ['/v1/messages', {}, true, ANTHROPIC],
    ['/v1/messages/batches', bearer, true, ANTHROPIC],
    ['/v1/messagesx', {}, false, OPENAI],
    ['/v1/chat/completions', { ...own, ...version }, true, OPENAI],
    ['/v1/responses/compact', { ...own, ...version }, true, OPENAI],
    ['/v1/models', version, true, ANTHROPIC],
    ['/v1/models', { ...bearer, ...version }, true, ANTHROPIC],
    ['/v1/models', own, true, ANTHROPIC],
    ['/v1/models', { ...own, ...bearer }, true, OPENAI],
    ['/v1/models', bearer, true, OPENAI],
    ['/v1/refs', { authorization: 'Bearer sk-ant-1' }, true, ANTHROPIC],
    ['/v1/chat/completions', { authorization: 'Bearer sk-ant-1' }, true, OPENAI],
    ['/v1/files', { authorization: 'Bearer sk-ant-1' }, false, OPENAI],
    // The path of a gateway: its key goes to no other server.
    ['/v1/files', own, false, OPENAI],
    ['/v1/files', { ...own, ...version }, false, ANTHROPIC],
  ])('%s with %j: known %s', (path, headers, isKnown, api) => {
    expect(apiOf(path, new Headers(headers as Record<string, string>), () => isKnown)).toBe(api);
  });
});

describe('the keys of a request', () => {
  it('are in either header, and the API says which counts', () => {
    const read = (headers: object, api = ANTHROPIC) => {
      const sent = new Headers(headers as Record<string, string>);
      return [api.keyIn(sent), keysIn(sent, api)];
    };
    expect(read(bearer)).toEqual(['key-of-the-bearer', ['key-of-the-bearer']]);
    expect(read(own)).toEqual(['key-of-its-own', ['key-of-its-own']]);
    const both = { ...own, ...bearer, ...version };
    expect(read(both)).toEqual(['key-of-its-own', ['key-of-its-own', 'key-of-the-bearer']]);
    expect(read(both, OPENAI)).toEqual(['key-of-the-bearer', ['key-of-the-bearer', 'key-of-its-own']]);
    expect(read(own, OPENAI)).toEqual([undefined, ['key-of-its-own']]);
    expect(read({ 'x-api-key': 'two words', authorization: 'Basic abc' })).toEqual([undefined, []]);
    // Clients of Azure (https://github.com/BerriAI/litellm/issues/4077).
    const azure = { 'api-key': 'key-of-azure' };
    expect(read(azure, OPENAI)).toEqual(['key-of-azure', ['key-of-azure']]);
    expect(read({ ...azure, authorization: '' }, OPENAI)).toEqual(['key-of-azure', ['key-of-azure']]);
    expect(read({ ...azure, ...bearer }, OPENAI)).toEqual(['key-of-the-bearer', ['key-of-the-bearer']]);
    expect(read({ ...azure, authorization: 'Basic abc' }, OPENAI)).toEqual([undefined, []]);
    expect(read({ 'api-key': 'two words' }, OPENAI)).toEqual([undefined, []]);
    expect(read(azure)).toEqual([undefined, []]);
  });

  it('are sent alone where they count, and to a gateway of OpenAI’s API unchanged', () => {
    const sent = (headers: object, account: object) =>
      Object.fromEntries(requestHeaders(new Headers(headers as Record<string, string>), account));
    expect(sent({ ...own, ...bearer }, { api: ANTHROPIC })).toEqual(own);
    expect(sent({ ...own, authorization: 'Basic abc' }, { api: ANTHROPIC })).toEqual(own);
    expect(sent({ 'x-api-key': 'two words', ...bearer }, { api: ANTHROPIC })).toEqual(bearer);
    const same = { 'x-api-key': 'one', authorization: 'Bearer one' };
    expect(sent(same, { api: ANTHROPIC })).toEqual(same);
    const all = { ...own, ...bearer, 'api-key': 'key-of-azure' };
    expect(sent(all, { api: OPENAI, isVendor: true })).toEqual(bearer);
    expect(sent(all, { api: OPENAI, isVendor: false })).toEqual(all);
  });

  it('are never sent with the deployer’s', () => {
    const account = {
      api: ANTHROPIC,
      apiKey: 'sk-ant-the-deployers',
      forwardedHeaders: ['x-*', 'authorization'],
    };
    const sent = requestHeaders(new Headers({ ...own, ...bearer, ...version }), account);
    expect(Object.fromEntries(sent)).toEqual({ 'x-api-key': 'sk-ant-the-deployers', ...version });
    const toOpenAi = requestHeaders(new Headers({ ...own, ...bearer }), { ...account, api: OPENAI });
    const toGateway = requestHeaders(new Headers(own), { api: ANTHROPIC, apiKey: 'the-gateways' });
    expect(Object.fromEntries(toGateway)).toEqual({
      'x-api-key': 'the-gateways',
      authorization: 'Bearer the-gateways',
    });
    expect(Object.fromEntries(toOpenAi)).toEqual({ authorization: 'Bearer sk-ant-the-deployers' });
  });
});

describe('a shared account of Anthropic’s', () => {
  const account = { api: ANTHROPIC, apiKey: 'the-deployers' };

  it('is not known by the headers of its answers', () => {
    const answer = new Headers({
      'content-type': 'application/json',
      'request-id': 'req_1',
      'retry-after': '3',
      'x-should-retry': 'true',
      'anthropic-beta': 'one',
      'anthropic-organization-id': 'org',
      'anthropic-workspace-id': 'wrk',
      'anthropic-ratelimit-unified-5h-utilization': '0.5',
      'anthropic-priority-input-tokens-remaining': '1',
    });
    expect([...responseHeaders(answer, account).keys()]).toEqual([
      'anthropic-beta',
      'content-type',
      'request-id',
      'retry-after',
      'x-should-retry',
    ]);
    expect([...responseHeaders(answer, { api: ANTHROPIC }).keys()]).toEqual([...answer.keys()]);
  });

  it('takes the parameters of the API alone', () => {
    expect(forwardedSearch('?beta=true&account=2&limit=10', account)).toBe('?beta=true&limit=10');
    expect(forwardedSearch('?account=2', account)).toBe('');
    expect(forwardedSearch('?beta=true', { ...account, api: OPENAI })).toBe('');
    expect(forwardedSearch('?beta=true&account=2', { api: ANTHROPIC })).toBe('?beta=true&account=2');
  });
});
