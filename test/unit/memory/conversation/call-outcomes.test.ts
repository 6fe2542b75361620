import { describe, expect, it } from 'vitest';
import { filesWritten, hasFailed } from '../../../../src/memory/edits/purge.ts';
import { calls, read, result } from '../../../support/conversations/chat.ts';

const fails = (output: unknown): boolean => {
  const [, message] = read([calls(['1', 'f']), result('1', output)]);
  return message !== undefined && hasFailed(message);
};

describe('a call has failed', () => {
  it.each<[output: unknown]>([
    ['Error: 503 Service Unavailable'],
    ['error: pathspec did not match'],
    ['Error executing Python code: division by zero'],
    ['<tool_use_error>File does not exist.</tool_use_error>'],
    ['fatal: not a git repository'],
    ['Traceback (most recent call last):\n  File "a.py", line 1'],
    ['\nFileNotFoundError: a.txt'],
    [[{ type: 'text', text: 'Error: no such user' }]],
    ['{"type":"text","text":"Error: no such page"}'],
    ['{"isError":true,"content":[{"type":"text","text":"no"}]}'],
    ['{"is_error": true}'],
    ['{"error":"no such order"}'],
    ['{"error":{"code":404}}'],
    ['{"success":false,"message":"no"}'],
    ['{"ok":false}'],
    ['{"status":"error"}'],
  ])('if its result is %j', (output) => expect(fails(output)).toBe(true));

  it.each<[what: string, output: unknown]>([
    ['is empty', ''],
    ['quotes an error', 'app.log:3: Error: disk full'],
    ['is a page about errors', 'Errors and warnings: a guide'],
    ['is a page about one error', 'Error handling in Go\n\nIn Go, an error is a value.'],
    ['has the exit code of a command, which may have done its work', 'Exit code 1\nERROR 2 tests'],
    ['has data beside an error', '{"error":"one page is missing","data":[1,2]}'],
    ['has no error', '{"error":null,"success":true}'],
    ['has an empty error', '{"error":""}'],
    ['is the state of something that failed', '{"status":"failed","job":7}'],
    ['is a list', '[{"error":"x"}]'],
    ['is no JSON', '{"error":'],
    ['is long JSON', JSON.stringify({ error: 'x'.repeat(5_000) })],
  ])('not if its result %s', (_, output) => expect(fails(output)).toBe(false));
});

const writes = (name: string, input: unknown): string | undefined => {
  const [message] = read([calls(['1', name, typeof input === 'string' ? input : JSON.stringify(input)])]);
  return message && filesWritten(message)[0];
};

describe('a call writes a file', () => {
  it.each<[name: string, input: object]>([
    ['write_file', { path: 'a.ts', content: 'x' }],
    ['Write', { file_path: '/a.ts', content: 'x' }],
    ['writeFile', { filename: 'a.ts', text: 'x' }],
    ['mcp__sandbox__sandbox_write', { name: 'box', path: 'a.ts', content: 'x' }],
    ['filesystem-create_file', { path: 'a.ts', contents: 'x' }],
    ['str_replace_editor', { command: 'create', path: '/a.ts', file_text: 'x' }],
  ])('%s %j', (name, input) => expect(writes(name, input)).toBeDefined());

  it.each<[name: string, input: unknown]>([
    ['read_file', { path: 'a.ts', content: 'x' }],
    ['write_file', { path: 'a.ts' }],
    ['write_file', { content: 'x' }],
    ['write_file', { path: 'a.ts', content: { lines: ['x'] } }],
    ['write_file', { path: 'a.ts', content: 'x', append: true }],
    ['write_file', { path: 'a.ts', content: 'x', start_line: 3 }],
    ['write_file', { path: 'a.ts', content: 'x', text: 'y' }],
    ['write_file', '{"path":"a.ts","content":"x"'],
    ['write_file', '["a.ts","x"]'],
    ['append_to_file', { path: 'a.ts', content: 'x' }],
    ['create_comment', { path: 'a.ts', content: 'x' }],
    ['create_issue', { path: 'a.ts', content: 'x' }],
    ['str_replace_editor', { command: 'str_replace', path: '/a.ts', new_str: 'x', old_str: 'y' }],
    ['str_replace_editor', { command: 'view', path: '/a.ts', file_text: 'x' }],
    ['Bash', { command: 'write it', description: 'x' }],
    ['write_file', { path: 'a.ts', content: 'x', note: 'y'.repeat(1_000) }],
    ['write_file', { path: 'a.ts', content: 'x'.repeat(1_000_000) }],
  ])('but not %s %j', (name, input) => expect(writes(name, input)).toBeUndefined());

  it('under one name for one path, whatever its content and the order of its arguments', () => {
    const name = writes('write_file', { path: 'a.ts', content: 'x' });
    expect(writes('write_file', { content: 'y', path: 'a.ts' })).toBe(name);
    expect(writes('write_file', { path: 'b.ts', content: 'x' })).not.toBe(name);
    expect(writes('save_file', { path: 'a.ts', content: 'x' })).not.toBe(name);
    expect(writes('write_file', { path: 'a.ts', content: 'x', host: 'b' })).not.toBe(name);
  });
});
