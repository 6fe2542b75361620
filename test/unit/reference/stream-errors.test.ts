/** The errors of streams are in the OpenAPI document as the protocols write them. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { StreamFault } from '../../../src/protocol/answers/answer-format.ts';
import { chatFormat } from '../../../src/protocol/chat/format.ts';
import { messagesFormat } from '../../../src/protocol/messages/format.ts';
import { FAILED_CODES } from '../../../src/protocol/responses/failed-codes.ts';
import { responsesFormat } from '../../../src/protocol/responses/format.ts';
import {
  chatStreamError,
  messagesStreamError,
  responseFailed,
  responseStreamError,
} from '../../../src/reference/schemas/errors.ts';
import { ERRORS } from '../../../src/request/error-codes.ts';
import { sentDocument } from '../../support/deployment/api-parts.ts';

const { paths, components } = sentDocument();

const FAULTS: StreamFault[] = Object.entries(ERRORS).map(([code, { status, type }]) => ({
  message: `${code} in words`,
  type,
  param: null,
  code,
  status,
}));
FAULTS.push({ message: 'The provider is gone.', type: 'server_error', param: null, code: null });

const last = (frames: Uint8Array): unknown =>
  JSON.parse(
    new TextDecoder()
      .decode(frames)
      .match(/^data: .*$/gm)
      ?.at(-1)
      ?.slice('data: '.length) ?? '',
  );

const ROUTES = [
  ['/v1/chat/completions', 'ChatStreamError', chatStreamError, chatFormat, true],
  ['/v1/chat/completions', 'ChatStreamError', chatStreamError, chatFormat, false],
  ['/v1/responses', 'ResponseFailed', responseFailed, responsesFormat, true],
  ['/v1/responses', 'ResponseStreamError', responseStreamError, responsesFormat, false],
  ['/v1/messages', 'MessagesStreamError', messagesStreamError, messagesFormat, true],
  ['/v1/messages', 'MessagesStreamError', messagesStreamError, messagesFormat, false],
] as const;

describe.each(ROUTES)('streams of %s end with %s', (path, name, schema, format, failsAsAnswer) => {
  it('by the document', () => {
    const stream = paths[path]?.post?.responses[200]?.content?.['text/event-stream']?.schema;
    expect(stream?.contentSchema).toMatchObject({
      anyOf: expect.arrayContaining([{ $ref: `#/components/schemas/${name}` }]),
    });
    expect(JSON.stringify(components.schemas[name])).toMatch(/schemas\/(?:ErrorCode|ResponseFailedCode)"/);
  });

  it.each(FAULTS)('for $code', (fault) => {
    const event = last(format.stream(undefined, undefined, { failsAsAnswer }).error(fault));
    expect(schema.parse(event)).toEqual(event);
    expect(JSON.stringify(event)).toContain(fault.message);
  });
});

describe('the codes of response.failed', () => {
  const codes = Object.keys(FAILED_CODES);

  it('are in the document, each with what it is for', () => {
    const { enum: named, description } = components.schemas.ResponseFailedCode as {
      enum: string[];
      description: string;
    };
    expect(named).toEqual(codes);
    expect([...description.matchAll(/^`(\w+)`: /gm)].map(([, code]) => code)).toEqual(codes);
  });

  it('are the page’s', () => {
    const [, section = ''] = readFileSync('docs/answers-and-errors.md', 'utf8').split('## Errors in streams');
    const rows = section.slice(section.indexOf('| `code`')).match(/^\|[^|\n]+/gm) ?? [];
    const named = rows.slice(1).flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map(([, code]) => code));
    expect(named.toSorted()).toEqual(codes.toSorted());
  });

  it.each(codes)('keep the upstream’s %s', (code) => {
    const fault = { message: 'No.', type: 'invalid_request_error', param: null, code };
    const event = last(responsesFormat.stream(undefined, undefined, { failsAsAnswer: true }).error(fault));
    expect(event).toMatchObject({ response: { error: { code } } });
  });
});
