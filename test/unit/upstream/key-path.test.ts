import { expect, it } from 'vitest';
import { keyPathOf } from '../../../src/upstream/key-verdict.ts';

it.each([
  ['https://openrouter.ai/api/v1', '/key'],
  ['https://OpenRouter.ai./api/v1', '/key'],
  ['https://eu.openrouter.ai./api/v1', '/key'],
  ['https://openrouter.ai.example.com/v1', '/models'],
  ['https://notopenrouter.ai/v1', '/models'],
])('asks %s about a key at %s', (baseUrl, path) => expect(keyPathOf(baseUrl)).toBe(path));
