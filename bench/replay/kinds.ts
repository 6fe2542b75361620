/**
 * The kinds of generated conversations: their length, the size of their outputs, and how often
 * their agents return to earlier values. The numbers follow recorded agents.
 */
import type { Random } from '../random.ts';

export interface Kind {
  readonly name: string;
  /** Names of the tools (see `tools.ts`); each call picks one. */
  readonly tools: readonly [string, ...string[]];
  /** Characters of the preamble. */
  readonly preamble: number;
  /** The fewest and the most turns. */
  readonly turns: readonly [number, number];
  /** The fewest and the most steps in all turns together. */
  readonly steps: readonly [number, number];
  /** Number of calls in a step. */
  calls(random: Random): number;
  /** Characters of a tool's output. */
  output(random: Random): number;
  /** Characters of a file in a call's arguments; 0 for none. */
  written(random: Random): number;
  /** Probability that a step returns to an earlier value. */
  readonly recall: number;
  /** Probability of an image in a user message. The first one always has one, unless this is 0. */
  readonly images: number;
}

export const KINDS: readonly Kind[] = [
  {
    name: 'service',
    tools: ['query_orders'],
    preamble: 10_000,
    turns: [14, 24],
    steps: [10, 24],
    calls: () => 1,
    output: (random) => atMost(random.length(600, 0.9), 8_000),
    written: () => 0,
    recall: 0.6,
    images: 0,
  },
  {
    name: 'coding',
    tools: ['read_file', 'read_file', 'search', 'run_tests', 'read_logs', 'query_orders'],
    preamble: 600,
    turns: [1, 8],
    steps: [20, 450],
    calls: (random) => (random.chance(0.94) ? 1 : random.int(2, 4)),
    output: (random) => atMost(random.length(700, 1.6), 70_000),
    written: (random) => (random.chance(0.12) ? atMost(random.length(2_000, 1.1), 20_000) : 0),
    recall: 0.25,
    images: 0,
  },
  {
    name: 'documents',
    tools: ['query_orders', 'query_orders', 'read_logs', 'read_file'],
    preamble: 0,
    turns: [1, 3],
    steps: [15, 60],
    calls: (random) => (random.chance(0.8) ? 1 : random.int(2, 8)),
    output: (random) =>
      random.chance(0.9)
        ? atMost(random.length(400, 1.6), 30_000)
        : atMost(random.length(40_000, 0.8), 100_000),
    written: (random) => (random.chance(0.08) ? random.length(2_500, 0.8) : 0),
    recall: 0.6,
    images: 0,
  },
  {
    name: 'screens',
    tools: ['read_file', 'search', 'run_tests', 'read_logs', 'query_orders'],
    preamble: 0,
    turns: [2, 9],
    steps: [12, 110],
    calls: (random) => (random.chance(0.93) ? 1 : random.int(2, 10)),
    output: (random) => atMost(random.length(250, 1.8), 60_000),
    written: (random) => (random.chance(0.2) ? atMost(random.length(1_200, 1), 10_000) : 0),
    recall: 0.4,
    images: 0.3,
  },
];

function atMost(value: number, most: number): number {
  return Math.min(value, most);
}
