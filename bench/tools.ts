/** The tools of the generated agent: their arguments and outputs. */
import type { Random } from './random.ts';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
  /** The arguments of a call. */
  input(random: Random): object;
  /** The tool's output, with about as many characters as asked for. */
  output(random: Random, characters: number): string;
}

export const tools: readonly [Tool, ...Tool[]] = [
  {
    name: 'read_file',
    description: 'Read a file of the repository.',
    parameters: parametersOf('path'),
    input: (random) => ({ path: pathOf(random) }),
    output: (random, characters) => fill(characters, '\n\n', () => sourceOf(random)),
  },
  {
    name: 'run_tests',
    description: 'Run the tests whose names match.',
    parameters: parametersOf('pattern'),
    input: (random) => ({ pattern: `${word(random)} ${word(random)}` }),
    output: (random, characters) => fill(characters, '\n', () => testLine(random)),
  },
  {
    name: 'query_orders',
    description: 'Ask the orders service; the answer is JSON.',
    parameters: parametersOf('filter', 'limit'),
    input: (random) => ({ filter: `status = '${word(random)}'`, limit: `${random.int(1, 200)}` }),
    output: (random, characters) => jsonOutput(random, characters),
  },
  {
    name: 'read_logs',
    description: 'Read the logs of a service.',
    parameters: parametersOf('service', 'since'),
    input: (random) => ({ service: word(random), since: timestamp(random) }),
    output: (random, characters) => fill(characters, '\n', () => logLine(random)),
  },
  {
    name: 'search',
    description: 'Search the repository for a regular expression.',
    parameters: parametersOf('expression'),
    input: (random) => ({ expression: `\\b${identifier(random)}\\(` }),
    output: (random, characters) =>
      fill(characters, '\n', () => `${pathOf(random)}:${random.int(1, 900)}:  ${statement(random)}`),
  },
  {
    name: 'write_file',
    description: 'Write a file of the repository.',
    parameters: parametersOf('path', 'content'),
    input: (random) => ({
      path: pathOf(random),
      content: fill(random.int(100, 3_000), '\n\n', () => sourceOf(random)),
    }),
    output: (random) => `Wrote ${random.int(100, 9_000)} bytes to ${pathOf(random)}.`,
  },
];

const WORDS = [
  ...['account', 'address', 'amount', 'archive', 'balance', 'batch', 'billing', 'bucket', 'buffer', 'cache'],
  ...[
    'cancel',
    'carrier',
    'cart',
    'catalog',
    'charge',
    'checkout',
    'client',
    'cluster',
    'coupon',
    'currency',
  ],
  ...['customer', 'deadline', 'delivery', 'discount', 'document', 'event', 'export', 'gateway', 'handler'],
  ...['invoice', 'ledger', 'limit', 'locale', 'margin', 'message', 'metric', 'migration', 'notice', 'offer'],
  ...['order', 'parcel', 'payment', 'pending', 'policy', 'price', 'product', 'queue', 'quota', 'rebate'],
  ...['receipt', 'refund', 'region', 'replica', 'report', 'request', 'retry', 'return', 'schedule', 'schema'],
  ...['segment', 'session', 'shipment', 'snapshot', 'stock', 'supplier', 'tax', 'tenant', 'timeout', 'token'],
  ...[
    'total',
    'transfer',
    'update',
    'upload',
    'vendor',
    'version',
    'voucher',
    'warehouse',
    'webhook',
    'zone',
  ],
] as unknown as readonly [string, ...string[]];

export function word(random: Random): string {
  return random.pick(WORDS);
}

export function identifier(random: Random): string {
  const tail = word(random);
  return `${word(random)}${tail[0]?.toUpperCase()}${tail.slice(1)}`;
}

export function pathOf(random: Random): string {
  return `src/${word(random)}/${word(random)}-${word(random)}.ts`;
}

function parametersOf(...names: string[]): object {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  return { type: 'object', properties, required: names, additionalProperties: false };
}

/** Joins pieces until they are long enough. */
function fill(characters: number, between: string, piece: () => string): string {
  const pieces = [piece()];
  for (let length = pieces[0]?.length ?? 0; length < characters; ) {
    const next = piece();
    pieces.push(next);
    length += next.length + between.length;
  }
  return pieces.join(between);
}

function timestamp(random: Random): string {
  return new Date(Date.UTC(2026, 2, 4) + random.int(0, 86_400_000)).toISOString();
}

function statement(random: Random): string {
  return random.pick([
    `const ${identifier(random)} = await ${identifier(random)}(${word(random)}, "${word(random)}");`,
    `if (${word(random)}.${word(random)} > ${random.int(1, 5_000)}) return ${identifier(random)};`,
    `${word(random)}.set('${word(random)}:${random.hex(8)}', ${word(random)} ?? ${random.int(0, 99)});`,
    `throw new Error(\`${word(random)} \${${word(random)}.id} has no ${word(random)}\`);`,
  ]);
}

function sourceOf(random: Random): string {
  const lines = Array.from({ length: random.int(3, 9) }, () => `  ${statement(random)}`);
  return [
    `/** The ${word(random)} of a ${word(random)}, as the ${word(random)} sees it. */`,
    `export async function ${identifier(random)}(${word(random)}: ${identifier(random)}): Promise<void> {`,
    ...lines,
    '}',
  ].join('\n');
}

function testLine(random: Random): string {
  const name = `${word(random)} › ${identifier(random)} › keeps the ${word(random)} of a ${word(random)}`;
  if (random.chance(0.9)) return `  ✓ ${name} (${random.int(1, 400)} ms)`;
  return [
    `  ✗ ${name}`,
    `    AssertionError: expected ${random.int(0, 9_999)} to be ${random.int(0, 9_999)}`,
    ...Array.from(
      { length: 4 },
      () => `      at ${identifier(random)} (${pathOf(random)}:${random.int(1, 900)}:7)`,
    ),
  ].join('\n');
}

function logLine(random: Random): string {
  const level = random.pick(['INFO', 'INFO', 'INFO', 'WARN', 'ERROR']);
  return `${timestamp(random)} ${level} ${word(random)}[${random.int(100, 32_000)}] trace=${random.hex(32)} POST /v2/${word(random)}s/${random.int(1, 999_999)} ${random.pick([200, 201, 404, 503])} ${random.int(1, 4_000)}ms`;
}

/** Complete JSON: as many rows as fit, with or without line breaks, as services differ. */
function jsonOutput(random: Random, characters: number): string {
  const indent = random.chance(0.5) ? 2 : 0;
  const rows: object[] = [];
  for (let length = 0; length < characters || rows.length === 0; ) {
    const row = {
      id: `ord_${random.hex(16)}`,
      customer: { id: random.int(1, 999_999), email: `${word(random)}.${word(random)}@example.com` },
      status: word(random),
      total: random.int(100, 999_999) / 100,
      placed_at: timestamp(random),
      paid: random.chance(0.8),
      coupon: random.chance(0.2) ? `${word(random).toUpperCase()}-${random.int(10, 99)}` : null,
    };
    rows.push(row);
    length += JSON.stringify(row, null, indent).length;
  }
  return JSON.stringify({ rows, next: null }, null, indent);
}
