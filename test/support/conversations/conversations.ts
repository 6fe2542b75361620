/** Small conversations for tests. */

/** Removes every tool output of all turns but the last. */
export const COMPACT_OLD_TURNS = { mode: 'compact', compact_trigger_turns: 1, compact_keep: 1 };

/**
 * Two turns: in the first, `read_file` is called once per output, as `call_1`, `call_2`, …; the
 * second says thanks.
 */
export function conversationOf(outputs: readonly string[]) {
  return [
    { role: 'system' as const, content: 'You help with files.' },
    { role: 'user' as const, content: 'Read the files.' },
    ...outputs.flatMap((content, index) => {
      const id = `call_${index + 1}`;
      const called = { name: 'read_file', arguments: `{"number":${index + 1}}` };
      return [
        {
          role: 'assistant' as const,
          content: null,
          tool_calls: [{ id, type: 'function' as const, function: called }],
        },
        { role: 'tool' as const, tool_call_id: id, content },
      ];
    }),
    { role: 'assistant' as const, content: 'I have read them.' },
    { role: 'user' as const, content: 'Thank you.' },
  ];
}

/** An output of many lines of about 70 bytes, which no other topic has. */
export function linesAbout(topic: string, lines = 40): string {
  return Array.from(
    { length: lines },
    (_, at) => `${at + 1} of ${topic}: the quick brown fox jumps over it, é 😀`,
  )
    .join('\n')
    .concat('\n');
}
