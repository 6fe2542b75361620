import { expect, it } from 'vitest';
import { providerOf } from '../../../src/telemetry/provider.ts';

it.each([
  ['https://api.openai.com/v1/chat/completions', 'openai'],
  ['https://api.anthropic.com/v1/messages', 'anthropic'],
  ['https://team.openai.azure.com/openai/v1/responses', 'azure.ai.openai'],
  ['https://openrouter.ai/api/v1/chat/completions', 'openai'],
  ['http://127.0.0.1:4000/v1/messages?beta=true', 'anthropic'],
])('a call of %s is one of %s', (url, name) => {
  expect(providerOf(new URL(url))).toBe(name);
});
