/** `/v1/blocks`: a tenant's memory blocks (docs/memory-blocks.md). */
import { secondsOf } from '../lib/utc-time.ts';
import { quote } from '../memory/strategy/hint.ts';
import { charactersIn, isLabel, LABEL_FORM, LONGEST_BLOCK } from '../memory/strategy/memory-blocks.ts';
import { ApiError, invalid } from '../request/errors.ts';
import { TenantBlocks } from '../request/memory-blocks.ts';
import { type ExpectedVersion, MOST_BLOCKS, type StoredBlock } from '../storage/tenant/blocks.ts';
import { objectIn } from './any-protocol.ts';
import { type RouteContext, verifiedTenant } from './context.ts';
import { deleted, deletion, stored } from './stored.ts';

/** `GET /v1/blocks`: all blocks without their texts, by label. */
export async function listBlocks(c: RouteContext): Promise<Response> {
  const blocks = await blocksOf(c, 'read');
  const listed = await stored(c, () => blocks.list());
  const data = listed.map(({ updated_at, ...block }) => ({
    object: 'memory.block',
    ...block,
    updated_at: secondsOf(updated_at),
  }));
  return c.json({ object: 'list', data, has_more: false });
}

/** `GET /v1/blocks/{label}`: the newest version, or with `?version=` an earlier one. */
export async function getBlock(c: RouteContext): Promise<Response> {
  const blocks = await blocksOf(c, 'read');
  const label = labelOf(c);
  const version = versionIn(c.req.query('version'));
  const found = await stored(c, () => blocks.find(label, version));
  if (!found) throw notFound(label, version);
  return blockAnswer(c, found.block, { versions: found.versions });
}

/**
 * `PUT /v1/blocks/{label}`: sets the text. With `if-match`, or `version` in the body, only if the
 * block has that version.
 */
export async function putBlock(c: RouteContext): Promise<Response> {
  const blocks = await blocksOf(c, 'change');
  const label = labelOf(c);
  const { text, version } = await readPut(c.req.raw);
  const isNew = mustBeNew(c);
  const expected = expectedIn(c, version ?? (isNew ? 0 : undefined));
  const changed = await stored(c, () => blocks.change(label, { kind: 'set', text }, expected));
  if (changed.state === 'changed') return blockAnswer(c, changed.block);
  if (changed.state === 'stale') {
    const byHeader = isNew ? 'if-none-match' : 'if-match';
    throw stale(label, changed.version, version === undefined ? byHeader : 'version');
  }
  if (changed.state === 'too_many')
    throw new ApiError(
      'too_many_blocks',
      `This key has ${MOST_BLOCKS} memory blocks, which is the limit; delete one first.`,
      'label',
    );
  throw tooLong(charactersIn(text));
}

/** `DELETE /v1/blocks/{label}`: deletes the block and all its versions. */
export async function deleteBlock(c: RouteContext): Promise<Response> {
  const blocks = await blocksOf(c, 'change');
  const label = labelOf(c);
  const expected = expectedIn(c, undefined);
  const gone = await deletion(c, (begin) => {
    begin();
    return blocks.delete(label, expected);
  });
  const answer = { label, object: 'memory.block.deleted' };
  if (gone === 'under way') return deleted(c, answer, false);
  if (gone.state === 'stale' && gone.version > 0) throw stale(label, gone.version, 'if-match');
  if (gone.state !== 'deleted') throw notFound(label, undefined);
  return deleted(c, answer, true);
}

async function blocksOf(c: RouteContext, use: 'read' | 'change'): Promise<TenantBlocks> {
  return new TenantBlocks(await verifiedTenant(c, use), c.get('services'));
}

/** @throws ApiError that names the label */
function labelOf(c: RouteContext): string {
  const label = c.req.param('label') ?? '';
  if (isLabel(label)) return label;
  throw invalid('label', `The label of a memory block must have ${LABEL_FORM}.`);
}

/** @throws ApiError that names the field */
async function readPut(request: Request): Promise<{ text: string; version: number | undefined }> {
  const form = 'The body must be a JSON object of text and, optionally, version';
  const { text, version } = await objectIn(request, form, ['text', 'version']);
  if (typeof text !== 'string') throw invalid('text', `text must be a string; this one is ${quote(text)}.`);
  const characters = charactersIn(text);
  if (characters > LONGEST_BLOCK) throw tooLong(characters);
  if (version === undefined || version === null) return { text, version: undefined };
  if (Number.isSafeInteger(version) && (version as number) >= 0) return { text, version: version as number };
  throw invalid(
    'version',
    'version must be the number of the version that the block has; 0: the block must not exist.',
  );
}

/** Whether there must be no such block: HTTP's own way to say it. @throws ApiError */
function mustBeNew(c: RouteContext): boolean {
  const header = c.req.header('if-none-match')?.trim() ?? '';
  if (header === '' || header === '*') return header === '*';
  throw invalid('if-none-match', 'if-none-match must be *: the block must not exist.');
}

/** What `if-match` and the body expect. @throws ApiError that names the header */
function expectedIn(c: RouteContext, inBody: number | undefined): ExpectedVersion {
  const header = c.req.header('if-match')?.trim();
  if (header === undefined || header === '') return inBody;
  const [, digits] = /^(?:W\/)?"?(\d{1,15})"?$/.exec(header) ?? [];
  const expected = header === '*' ? 'any' : digits === undefined ? undefined : Number(digits);
  if (expected === undefined)
    throw invalid(
      'if-match',
      'if-match must be * or the number of the version that the block has, such as "3".',
    );
  if (inBody !== undefined && inBody !== expected)
    throw invalid(
      'version',
      'version in the body, if-match and if-none-match must not expect different versions.',
    );
  return expected;
}

/** @throws ApiError that names the parameter */
function versionIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw invalid('version', 'version must be the number of a version, from 1 on.');
}

function blockAnswer(c: RouteContext, { updated_at, ...block }: StoredBlock, more: object = {}): Response {
  const characters = charactersIn(block.text);
  const answer = { object: 'memory.block', ...block, characters, updated_at: secondsOf(updated_at), ...more };
  return c.json(answer, 200, { etag: `"${block.version}"` });
}

function notFound(label: string, version: number | undefined): ApiError {
  return version === undefined
    ? new ApiError('block_not_found', `This key has no memory block '${label}'.`, 'label')
    : new ApiError(
        'block_not_found',
        `The memory block '${label}' has no version ${version}, or no longer keeps it.`,
        'version',
      );
}

/** @param param what has named another version */
function stale(label: string, version: number, param: string): ApiError {
  const message =
    version === 0
      ? `The memory block '${label}' does not exist; without ${param}, or with version 0 in the body, it is made.`
      : `The memory block '${label}' has version ${version}. Read it, and send the change again.`;
  return new ApiError('block_changed', message, param);
}

function tooLong(characters: number): ApiError {
  return invalid(
    'text',
    `text must have at most ${LONGEST_BLOCK.toLocaleString('en-US')} characters; this one has ${characters.toLocaleString('en-US')}.`,
  );
}
