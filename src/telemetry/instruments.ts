/** The metrics that go out over OTLP. */
import type { Instrument } from './otlp.ts';

/** Of `gen_ai.client.inference.duration`, as the conventions have it. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/**
 * Those of `gen_ai` are defined at
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-inference.md
 */
export const INSTRUMENTS = {
  'gen_ai.client.inference.duration': {
    unit: 's',
    description: 'Time from the sending of a model call to the end of its answer.',
    bounds: SECONDS,
  },
  'gen_ai.client.inference.usage.input_tokens': {
    unit: '{token}',
    description: 'Input tokens of model calls.',
  },
  'gen_ai.client.inference.usage.output_tokens': {
    unit: '{token}',
    description: 'Output tokens of model calls.',
  },
  'gen_ai.client.inference.usage.cache_read.input_tokens': {
    unit: '{token}',
    description: "Input tokens that were read from the vendor's prompt cache.",
  },
  'gen_ai.client.inference.usage.cache_write.input_tokens': {
    unit: '{token}',
    description: "Input tokens that were written to the vendor's prompt cache.",
  },
  'precis.requests': { unit: '{request}', description: 'Answered requests.' },
  'precis.tokens.before': { unit: '{token}', description: 'Tokens of requests as callers sent them.' },
  'precis.tokens.after': { unit: '{token}', description: 'Tokens of the views of these requests.' },
  'precis.warnings': {
    unit: '{warning}',
    description: 'Warnings in reports, without those that tell of no fault.',
  },
  'precis.notices': { unit: '{warning}', description: 'Warnings in reports that tell of no fault.' },
  'precis.overhead.duration': {
    unit: 's',
    description: 'Time from a request until its body goes up.',
    bounds: SECONDS,
  },
} as const satisfies Record<string, Instrument>;

export type InstrumentName = keyof typeof INSTRUMENTS;
