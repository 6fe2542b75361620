/** Where an error was thrown. */

/** A frame of V8's stack trace: `    at async work (file:///src/work.ts:12:3)`, or only a place. */
const FRAME = /^ +at (?:async )?(?:(.*) \()?([^()\s]+):(\d+):\d+\)?$/;

/** Files of the runtime and of packages. */
const FOREIGN = /^(?:node|cloudflare|workerd|ext|internal):|node_modules\//;

/** Functions that throw for their callers (`store-error.ts`, `time-limit.ts`). */
const HELPERS: readonly string[] = ['storing', 'within'];

/** The name of a function: `relay`, `Object.push`, `ArchiveStore.<anonymous>`, `#read`. */
const FUNCTION = /^(?:new )?[\w$.#<>]{1,80}/;

/**
 * The function, file and line of an error's first frame in our own code, such as
 * `writeRef (src/storage/refs/writer.ts:120)`. In the deployed Worker the file is the bundle's.
 *
 * @returns undefined where the trace has no such frame; never a part of the message
 */
export function thrownAt(error: unknown): string | undefined {
  const { stack, message } = Object(error) as { stack?: unknown; message?: unknown };
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
  // The message comes before the frames, and may have lines that look like one.
  const start = stack.indexOf(message);
  if (start < 0) return undefined;
  for (const line of stack.slice(start + message.length).split('\n')) {
    const [, name = '', file = '', at = ''] = FRAME.exec(line) ?? [];
    if (file === '' || FOREIGN.test(file) || HELPERS.includes(name)) continue;
    const [ours = '<anonymous>'] = FUNCTION.exec(name) ?? [];
    return `${ours} (${shortened(file)}:${at})`;
  }
  return undefined;
}

/** A path from `src/` on, or else the file's name. A query has no place in it. */
function shortened(file: string): string {
  const [path = ''] = file.split('?');
  const [, own] = /\/(src\/.*)$/.exec(path) ?? [];
  return own ?? path.slice(path.lastIndexOf('/') + 1);
}
