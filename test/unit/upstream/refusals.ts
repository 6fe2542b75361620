/** Refusals of prompts that are too long: as bodies, and as they are read. */
import type { TooLong } from '../../../src/upstream/too-long.ts';

/** An error in OpenAI's shape. */
export const openai = (message: string, code: string | number | null = null, more: object = {}): string =>
  JSON.stringify({ error: { message, type: 'invalid_request_error', param: 'messages', code, ...more } });

export const window = (limit?: number, prompt?: number, answer?: number): TooLong => ({
  withAnswer: true,
  ...(limit === undefined ? {} : { limit }),
  ...(prompt === undefined ? {} : { prompt }),
  ...(answer === undefined ? {} : { answer }),
});
export const ofPrompt = (limit: number, prompt?: number): TooLong => ({
  ...window(limit, prompt),
  withAnswer: false,
});
