/** The tool of the examples: it prints far more than the model needs to remember. */

export const TASK = 'Look at the orders 1 to 8, one after the other. Which one is late?';

export const READ_ORDER = {
  name: 'read_order',
  description: 'Reads an order with all of its events.',
  parameters: {
    type: 'object' as const,
    properties: { number: { type: 'number' as const } },
    required: ['number'],
    additionalProperties: false as const,
  },
};

/** An order with two hundred events, about 4 000 tokens. */
export function readOrder(number: number): string {
  const events = Array.from(
    { length: 200 },
    (_, at) => `event ${at} of order ${number}: scanned in hall ${at % 7}`,
  );
  return [`order ${number}: ${number === 5 ? 'late' : 'delivered'}`, ...events].join('\n');
}

/** Where Precis is, and the key of the upstream. */
export const baseURL = `${process.env.PRECIS_URL ?? 'http://127.0.0.1:8787'}/v1`;
export const apiKey = process.env.OPENAI_API_KEY ?? '';
export const model = process.env.OPENAI_MODEL ?? 'gpt-4.1-mini';

/** Old outputs become placeholders over 10 000 tokens. `auto` decides by itself when that pays off. */
export const strategy = { mode: 'compact', token_budget: 10_000 };
