/** The tool of the examples: it prints far more than the model needs to remember. */

export const TASK = 'Look at the orders 1 to 16, one after the other. Which one is late?';

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

/** An order with two hundred events, about 4,000 tokens. */
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
export const model = process.env.OPENAI_MODEL ?? 'gpt-6-luna';

/**
 * `auto` replaces old outputs by placeholders once the conversation is over 20,000 tokens and the
 * saving pays for the cached prefix that ends. So the frontier moves once in sixteen orders.
 */
export const strategy = { mode: 'auto', token_budget: 20_000 };

/** Prints what Precis did to a request. */
export function printEdits(headers: Headers | Record<string, string> | undefined): void {
  const { 'x-memory-applied': edits, 'x-memory-frontier': frontier } = Object.fromEntries(
    headers instanceof Headers ? headers : Object.entries(headers ?? {}),
  );
  console.log(`edits: ${edits}; frontier: ${frontier}`);
}

/** For clients that keep the headers of an answer to themselves: called before they are made. */
export function printEachEdit(): void {
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    printEdits(response.headers);
    return response;
  };
}
