/** The routes of refs, of memory blocks, of all data, and of the deployment itself. */

import { JSON_RPC } from '../bodies.ts';
import type { Answer, Operation, Parameter } from '../operation.ts';
import { backupBody, deploymentHealth, restoredRecords } from '../schemas/admin.ts';
import { deployment } from '../schemas/deployment.ts';
import * as schemas from '../schemas/stored.ts';
import type { Shape } from '../shape.ts';
import { CURSOR, clientSample, LIMIT } from './conversations.ts';

const REF: Parameter = {
  name: 'ref',
  in: 'path',
  description: 'As a placeholder names it.',
  schema: { type: 'string', pattern: '^ref_[a-z2-7]{26}$' },
  example: 'ref_aaaaaaaaaaaaaaaaaaaaaaaaaa',
};

const LABEL: Parameter = {
  name: 'label',
  in: 'path',
  description: 'Letters, digits, `_`, `.` and `-`.',
  schema: { type: 'string', pattern: '^[\\w.-]{1,64}$' },
  example: 'team',
};

const json = (description: string, schema: Shape): Answer => ({
  description,
  content: { 'application/json': schema },
});

const text: Shape = { type: 'string' };
const query = (name: string, description: string, schema: Parameter['schema']): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

const REFS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/refs',
    id: 'listRefs',
    group: 'Refs',
    summary: 'All refs of the key',
    access: 'caller',
    parameters: [LIMIT(100, 1000), CURSOR],
    answers: { 200: json('A page, in the order of the refs.', schemas.refPage) },
    page: 'refs-and-retrieval.md',
  },
  {
    method: 'get',
    path: '/v1/refs/tool',
    id: 'getRefTool',
    group: 'Refs',
    summary: 'The definition of the tool by which a model fetches',
    description: 'For callers that answer its calls themselves.',
    access: 'caller',
    answers: { 200: json('A function tool, as chat completions take it.', schemas.functionTool) },
    page: 'refs-and-retrieval.md#retrieval',
  },
  {
    method: 'get',
    path: '/v1/refs/{ref}',
    id: 'getRef',
    group: 'Refs',
    summary: 'Removed content, unchanged, or a part of it',
    access: 'caller',
    parameters: [
      REF,
      query('lines', 'Only these lines, counted from 1: `10-40`.', text),
      query('grep', 'Only lines that hold this text.', { type: 'string', maxLength: 256 }),
      query('context', 'Lines around each match of `grep`.', {
        type: 'integer',
        minimum: 0,
        maximum: 20,
        default: 0,
      }),
      query('path', 'Only the value at this path of a JSON content: `$.items[3].id`.', text),
    ],
    headers: ['range'],
    answers: {
      200: {
        description: 'The content, with its own type, or the part.',
        content: { '*/*': {} },
        headers: ['etag', 'last-modified', 'x-memory-ref', 'x-memory-truncated'],
      },
      206: {
        description: 'The bytes of the range.',
        content: { '*/*': {} },
        headers: ['etag', 'last-modified', 'x-memory-ref', 'content-range'],
      },
      416: { description: 'The content has no such bytes.', headers: ['content-range'] },
    },
    errors: ['invalid_ref', 'ref_not_found'],
    samples: clientSample("const response = await client.get('/refs/ref_aaaaaaaaaaaaaaaaaaaaaaaaaa');"),
    page: 'refs-and-retrieval.md',
  },
  {
    method: 'delete',
    path: '/v1/refs/{ref}',
    id: 'deleteRef',
    group: 'Refs',
    summary: 'Deletes a content',
    access: 'caller',
    parameters: [REF],
    answers: {
      200: json('Deleted.', schemas.deletedRef),
      202: json('The deletion continues.', schemas.deletedRef),
    },
    errors: ['invalid_ref', 'ref_not_found'],
    page: 'refs-and-retrieval.md',
  },
  {
    method: 'post',
    path: '/v1/mcp',
    id: 'mcp',
    group: 'Refs',
    summary: 'A server of the Model Context Protocol, also as `/mcp`',
    description:
      'The tools `retrieve_ref`, `list_refs` and `search_memory` over streamable HTTP, without sessions. A request of the revision 2026-07-28 says so in `_meta`, and has the headers `MCP-Protocol-Version`, `Mcp-Method` and, for a call, `Mcp-Name`; any other is one of an earlier revision.',
    access: 'caller',
    headers: ['x-conversation-id', 'x-memory-user'],
    body: {
      content: { 'application/json': JSON_RPC },
      example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    },
    answers: {
      200: json('The answer to a request.', JSON_RPC),
      202: { description: 'A notification was accepted.' },
      400: json(
        'Not a single message, or its headers contradict it, or its revision is unknown: the error lists the known ones.',
        JSON_RPC,
      ),
      404: json('The revision has no such method.', JSON_RPC),
      403: json("A request with another site's `Origin`.", JSON_RPC),
      406: json('`Accept` lacks one of the two types of the protocol.', JSON_RPC),
    },
    errors: ['body_too_large', 'overloaded', 'unsupported_media_type'],
    page: 'refs-and-retrieval.md#mcp',
  },
];

const BLOCKS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/blocks',
    id: 'listBlocks',
    group: 'Memory blocks',
    summary: 'All memory blocks of the key, without their texts',
    access: 'caller',
    answers: { 200: json('The blocks, by label.', schemas.blockList) },
    page: 'memory-blocks.md',
  },
  {
    method: 'get',
    path: '/v1/blocks/{label}',
    id: 'getBlock',
    group: 'Memory blocks',
    summary: 'The newest version of a block, or an earlier one',
    access: 'caller',
    parameters: [LABEL, query('version', 'One of the kept versions.', { type: 'integer', minimum: 1 })],
    answers: { 200: { ...json('The block.', schemas.keptBlock), headers: ['etag'] } },
    errors: ['block_not_found'],
    page: 'memory-blocks.md#reading-and-writing-blocks',
  },
  {
    method: 'put',
    path: '/v1/blocks/{label}',
    id: 'putBlock',
    group: 'Memory blocks',
    summary: "Sets a block's text",
    description: 'With `if-match` or `version`, only if the block has this version.',
    access: 'caller',
    parameters: [LABEL],
    headers: ['if-match'],
    body: {
      content: { 'application/json': schemas.putBlockBody },
      example: { text: 'Ann leads. Releases are on Fridays.' },
    },
    answers: { 200: { ...json('The block.', schemas.block), headers: ['etag'] } },
    errors: [
      'invalid_json',
      'body_too_large',
      'overloaded',
      'unsupported_media_type',
      'block_changed',
      'too_many_blocks',
    ],
    samples: clientSample("await client.put('/blocks/team', { body: { text } });"),
    page: 'memory-blocks.md#reading-and-writing-blocks',
  },
  {
    method: 'delete',
    path: '/v1/blocks/{label}',
    id: 'deleteBlock',
    group: 'Memory blocks',
    summary: 'Deletes a block and all its versions',
    access: 'caller',
    parameters: [LABEL],
    headers: ['if-match'],
    answers: {
      200: json('Deleted.', schemas.deletedBlock),
      202: json('The deletion continues.', schemas.deletedBlock),
    },
    errors: ['block_not_found', 'block_changed'],
    page: 'memory-blocks.md',
  },
];

const DEPLOYMENT: readonly Operation[] = [
  {
    method: 'delete',
    path: '/v1/memory',
    id: 'deleteAll',
    group: 'Deployment',
    summary: 'Deletes everything that is stored under the key',
    access: 'caller',
    answers: {
      200: json('Deleted.', schemas.deletedTenant),
      202: json('The deletion continues.', schemas.deletedTenant),
    },
    page: 'operating.md#what-is-kept-and-how-long',
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'getMetrics',
    group: 'Deployment',
    summary: "The deployment's metrics, for its operator",
    description: 'A 404 in deployments without `METRICS_TOKEN`.',
    access: 'metrics',
    answers: {
      200: { description: 'In the text format of Prometheus.', content: { 'text/plain': text } },
    },
    errors: ['not_forwarded', 'store_failed'],
    page: 'operating.md#metrics',
  },
  {
    method: 'get',
    path: '/v1/deployment',
    id: 'getDeployment',
    group: 'Deployment',
    summary: 'How the deployment is configured, without secrets',
    description: 'The values of a closed list of variables; of all others, whether they are set.',
    access: 'caller',
    answers: { 200: json('The configuration.', deployment) },
    page: 'inspector.md#this-deployment',
  },
  {
    method: 'get',
    path: '/v1/admin/health',
    id: 'getHealthOfParts',
    group: 'Deployment',
    summary: 'Whether the parts of the deployment work, for its operator',
    description:
      'Writes, reads and deletes an object in the bucket, asks an object of each class, the upstream, and the servers of summarizer and embeddings. A 404 in deployments without `ADMIN_TOKEN`.',
    access: 'admin',
    answers: { 200: json('All parts, also if one has failed.', deploymentHealth) },
    errors: ['not_forwarded'],
    page: 'operating.md#the-doctor',
  },
  {
    method: 'post',
    path: '/v1/admin/backup',
    id: 'backUp',
    group: 'Deployment',
    summary: 'The next records of a backup, for its operator',
    description:
      'Of one caller, of one of its conversations, or of all, sealed under `PRECIS_SECRET`. Each record is its kind (a byte), the bytes of its envelope and of its attachment (four each, big endian), and both. The last one of an answer is `E`, or `N`, which the next request brings. A 404 in deployments without `ADMIN_TOKEN`.',
    access: 'admin',
    body: { content: { 'application/json': backupBody }, example: {} },
    answers: {
      200: { description: 'Records.', content: { 'application/octet-stream': text } },
    },
    errors: [
      'not_forwarded',
      'invalid_value',
      'invalid_backup',
      'body_too_large',
      'overloaded',
      'store_failed',
    ],
    page: 'operating.md#backup-and-restore',
  },
  {
    method: 'post',
    path: '/v1/admin/restore',
    id: 'restore',
    group: 'Deployment',
    summary: 'Restores records of a backup, for its operator',
    description:
      'What is there stays, and what was deleted since does not come back. A request can be repeated. A 404 in deployments without `ADMIN_TOKEN`.',
    access: 'admin',
    parameters: [
      query(
        'after',
        'The hash of all records before these: SHA-256 of the hash before and a record, in hexadecimal. Default: zeros, before the first one.',
        { type: 'string', pattern: '^[0-9a-f]{64}$' },
      ),
    ],
    body: { content: { 'application/octet-stream': text }, example: '' },
    answers: { 200: json('What happened to them.', restoredRecords) },
    errors: [
      'not_forwarded',
      'invalid_backup',
      'unsupported_media_type',
      'body_too_large',
      'overloaded',
      'store_failed',
    ],
    page: 'operating.md#backup-and-restore',
  },
  {
    method: 'get',
    path: '/',
    id: 'getFrontPage',
    group: 'Deployment',
    summary: 'What this is',
    access: 'none',
    answers: { 200: { description: 'A page.', content: { 'text/html': text } } },
    page: 'inspector.md',
  },
  {
    method: 'get',
    path: '/inspect',
    id: 'getInspector',
    group: 'Deployment',
    summary: 'The inspector, a page that shows what the model saw',
    description: 'The page asks for a key itself, and keeps it in the tab.',
    access: 'none',
    answers: { 200: { description: 'A page.', content: { 'text/html': text } } },
    page: 'inspector.md',
  },
  {
    method: 'get',
    path: '/inspect/{file}',
    id: 'getInspectorFile',
    group: 'Deployment',
    summary: 'A file of the inspector',
    access: 'none',
    parameters: [
      {
        name: 'file',
        in: 'path',
        description: 'Its script or its style sheet.',
        schema: { type: 'string', enum: ['inspector.js', 'inspector.css'] },
        example: 'inspector.css',
      },
    ],
    headers: ['if-none-match'],
    answers: {
      200: {
        description: 'The file.',
        content: { 'text/javascript': text, 'text/css': text },
        headers: ['etag'],
      },
      304: { description: 'It has not changed.', headers: ['etag'] },
    },
    errors: ['not_forwarded'],
    page: 'inspector.md',
  },
  {
    method: 'get',
    path: '/healthz',
    id: 'getHealth',
    group: 'Deployment',
    summary: 'Whether requests can be answered',
    access: 'none',
    answers: {
      200: json('The Worker runs, and its configuration is valid.', schemas.healthy),
      503: json(
        'The configuration is invalid, and every request fails. The log names the variable.',
        schemas.unhealthy,
      ),
    },
    page: 'deploying.md#routes',
  },
  {
    method: 'get',
    path: '/health',
    id: 'getHeadroomHealth',
    group: 'Deployment',
    summary: "Whether requests can be answered, as Headroom's users ask",
    access: 'none',
    answers: {
      200: json('As of `/healthz`.', schemas.healthy),
      503: json('As of `/healthz`.', schemas.unhealthy),
    },
    page: 'deploying.md#routes',
  },
  {
    method: 'get',
    path: '/api/hello',
    id: 'getHello',
    group: 'Deployment',
    summary: 'Whether requests can be answered, as Claude Code asks',
    access: 'none',
    answers: {
      200: json('As of `/healthz`.', schemas.healthy),
      503: json('As of `/healthz`.', schemas.unhealthy),
    },
    page: 'messages-api.md#claude-code',
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'getOpenApi',
    group: 'Deployment',
    summary: 'The reference as an OpenAPI document',
    access: 'none',
    headers: ['if-none-match'],
    answers: {
      200: { ...json('An OpenAPI document of version 3.1.', { type: 'object' }), headers: ['etag'] },
      304: { description: 'It has not changed.', headers: ['etag'] },
    },
    page: 'deploying.md#the-reference',
  },
  {
    method: 'get',
    path: '/docs',
    id: 'getReference',
    group: 'Deployment',
    summary: 'The reference as a page',
    access: 'none',
    headers: ['if-none-match'],
    answers: {
      200: { description: 'The page.', content: { 'text/html': text }, headers: ['etag'] },
      304: { description: 'It has not changed.', headers: ['etag'] },
    },
    page: 'deploying.md#the-reference',
  },
  {
    method: 'get',
    path: '/docs/{page}',
    id: 'getPage',
    group: 'Deployment',
    summary: 'A page of the documentation: HTML for browsers, else Markdown',
    access: 'none',
    parameters: [
      {
        name: 'page',
        in: 'path',
        description:
          "The page's file, as `/llms.txt` lists it. Without `.md`, a request that accepts `text/html` gets HTML.",
        schema: { type: 'string', pattern: '^[a-z-]+(\\.md)?$' },
        example: 'modes.md',
      },
    ],
    headers: ['if-none-match'],
    answers: {
      200: {
        description: 'The page.',
        content: { 'text/markdown': text, 'text/html': text },
        headers: ['etag'],
      },
      304: { description: 'It has not changed.', headers: ['etag'] },
    },
    errors: ['not_forwarded'],
    page: 'deploying.md#the-reference',
  },
  {
    method: 'get',
    path: '/docs/search',
    id: 'searchDocs',
    group: 'Deployment',
    summary: 'A search over all pages of the documentation',
    access: 'none',
    parameters: [
      {
        name: 'q',
        in: 'query',
        description: 'Words. Sections that have all of them are found.',
        schema: { type: 'string' },
        example: 'budget',
      },
    ],
    answers: { 200: { description: 'The sections.', content: { 'text/html': text } } },
    page: 'deploying.md#the-reference',
  },
  {
    method: 'get',
    path: '/llms.txt',
    id: 'getLlmsTxt',
    group: 'Deployment',
    summary: 'What Precis is, and where its pages are, for language models',
    access: 'none',
    headers: ['if-none-match'],
    answers: {
      200: { description: 'In the form of llmstxt.org.', content: { 'text/plain': text }, headers: ['etag'] },
      304: { description: 'It has not changed.', headers: ['etag'] },
    },
    page: 'deploying.md#the-reference',
  },
];

export const STORED: readonly Operation[] = [...REFS, ...BLOCKS, ...DEPLOYMENT];
