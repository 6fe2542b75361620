/** The routes of refs, of memory blocks, of all data, and of the deployment itself. */
import { JSON_RPC } from '../bodies.ts';
import {
  type Answer,
  BODY_ERRORS,
  clientSample,
  deletion,
  inPath,
  json,
  type Operation,
  query,
  routes,
  sent,
} from '../operation.ts';
import { backupBody, deploymentHealth, restoredRecords } from '../schemas/admin.ts';
import * as schemas from '../schemas/stored.ts';
import { deployment } from '../schemas/stored.ts';
import type { Shape } from '../shape.ts';
import { CURSOR, LIMIT } from './conversations.ts';

const REF = inPath(
  'ref',
  'As a placeholder names it.',
  { type: 'string', pattern: '^ref_[a-z2-7]{26}$' },
  'ref_aaaaaaaaaaaaaaaaaaaaaaaaaa',
);

const LABEL = inPath(
  'label',
  'Letters, digits, `_`, `.` and `-`.',
  { type: 'string', pattern: '^[\\w.-]{1,64}$' },
  'team',
);

const text: Shape = { type: 'string' };
const html: Operation['answers'] = { 200: { description: 'A page.', content: { 'text/html': text } } };

/** What a client may have already. */
const revalidated = (answer: Answer): Pick<Operation, 'headers' | 'answers'> => ({
  headers: ['if-none-match'],
  answers: {
    200: { ...answer, headers: ['etag'] },
    304: { description: 'It has not changed.', headers: ['etag'] },
  },
});

const REFS = routes(
  { group: 'Refs', access: 'caller', page: 'refs-and-retrieval.md' },
  {
    'get /v1/refs': {
      id: 'listRefs',
      summary: 'All refs of the key',
      parameters: [LIMIT(100, 1000), CURSOR],
      answers: { 200: json('A page, in the order of the refs.', schemas.refPage) },
    },
    'get /v1/refs/tool': {
      id: 'getRefTool',
      summary: 'The definition of the tool by which a model fetches',
      description: 'For callers that answer its calls themselves.',
      answers: { 200: json('A function tool, as chat completions take it.', schemas.functionTool) },
      page: 'refs-and-retrieval.md#retrieval',
    },
    'get /v1/refs/{ref}': {
      id: 'getRef',
      summary: 'Removed content, unchanged, or a part of it',
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
    },
    'delete /v1/refs/{ref}': {
      id: 'deleteRef',
      summary: 'Deletes a content',
      parameters: [REF],
      answers: deletion(schemas.deletedRef),
      errors: ['invalid_ref', 'ref_not_found'],
    },
    'post /v1/mcp': {
      id: 'mcp',
      summary: 'A server of the Model Context Protocol, also as `/mcp`',
      description:
        'The tools `retrieve_ref`, `list_refs` and `search_memory` over streamable HTTP, without sessions. A request of the revision 2026-07-28 says so in `_meta`, and has the headers `MCP-Protocol-Version`, `Mcp-Method` and, for a call, `Mcp-Name`; any other is one of an earlier revision.',
      headers: ['x-conversation-id', 'x-memory-user'],
      body: sent(JSON_RPC, { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
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
      errors: BODY_ERRORS,
      page: 'refs-and-retrieval.md#mcp',
    },
  },
);

const BLOCKS = routes(
  { group: 'Memory blocks', access: 'caller', page: 'memory-blocks.md#reading-and-writing-blocks' },
  {
    'get /v1/blocks': {
      id: 'listBlocks',
      summary: 'All memory blocks of the key, without their texts',
      answers: { 200: json('The blocks, by label.', schemas.blockList) },
      page: 'memory-blocks.md',
    },
    'get /v1/blocks/{label}': {
      id: 'getBlock',
      summary: 'The newest version of a block, or an earlier one',
      parameters: [LABEL, query('version', 'One of the kept versions.', { type: 'integer', minimum: 1 })],
      answers: { 200: json('The block.', schemas.keptBlock, ['etag']) },
      errors: ['block_not_found'],
    },
    'put /v1/blocks/{label}': {
      id: 'putBlock',
      summary: "Sets a block's text",
      description:
        'With `if-match` or `version`, only if the block has this version; with `if-none-match: *`, only if there is none.',
      parameters: [LABEL],
      headers: ['if-match', 'if-none-match'],
      body: sent(schemas.putBlockBody, { text: 'Ann leads. Releases are on Fridays.' }),
      answers: { 200: json('The block.', schemas.block, ['etag']) },
      errors: ['invalid_json', ...BODY_ERRORS, 'block_changed', 'too_many_blocks'],
      samples: clientSample("await client.put('/blocks/team', { body: { text } });"),
    },
    'delete /v1/blocks/{label}': {
      id: 'deleteBlock',
      summary: 'Deletes a block and all its versions',
      parameters: [LABEL],
      headers: ['if-match'],
      answers: deletion(schemas.deletedBlock),
      errors: ['block_not_found', 'block_changed'],
      page: 'memory-blocks.md',
    },
  },
);

const OF_CALLERS = routes(
  { group: 'Deployment', access: 'caller' },
  {
    'delete /v1/memory': {
      id: 'deleteAll',
      summary: 'Deletes everything that is stored under the key',
      description: 'A request that names a user or a conversation is refused, since that is less.',
      answers: deletion(schemas.deletedTenant),
      page: 'operating.md#what-is-kept-and-how-long',
    },
    'get /v1/deployment': {
      id: 'getDeployment',
      summary: 'How the deployment is configured, without secrets',
      description: 'The values of a closed list of variables; of all others, whether they are set.',
      answers: { 200: json('The configuration.', deployment) },
      page: 'inspector.md#this-deployment',
    },
  },
);

const OF_OPERATORS = routes(
  { group: 'Deployment', access: 'admin', page: 'operating.md#backup-and-restore' },
  {
    'get /metrics': {
      id: 'getMetrics',
      summary: "The deployment's metrics, for its operator",
      description: 'A 404 in deployments without `METRICS_TOKEN`.',
      access: 'metrics',
      answers: { 200: { description: 'In the text format of Prometheus.', content: { 'text/plain': text } } },
      errors: ['not_forwarded', 'store_failed'],
      page: 'operating.md#metrics',
    },
    'get /v1/admin/health': {
      id: 'getHealthOfParts',
      summary: 'Whether the parts of the deployment work, for its operator',
      description:
        'Writes, reads and deletes an object in the bucket, asks an object of each class, the upstream, and the servers of summarizer and embeddings. A 404 in deployments without `ADMIN_TOKEN`.',
      answers: { 200: json('All parts, also if one has failed.', deploymentHealth) },
      errors: ['not_forwarded'],
      page: 'operating.md#the-doctor',
    },
    'post /v1/admin/backup': {
      id: 'backUp',
      summary: 'The next records of a backup, for its operator',
      description:
        'Of one caller, of one of its conversations, or of all, sealed under `PRECIS_SECRET`. Each record is its kind (a byte), the bytes of its envelope and of its attachment (four each, big endian), and both. The last one of an answer is `E`, or `N`, which the next request brings. A 404 in deployments without `ADMIN_TOKEN`.',
      body: sent(backupBody, {}),
      answers: { 200: { description: 'Records.', content: { 'application/octet-stream': text } } },
      errors: [
        'not_forwarded',
        'invalid_value',
        'invalid_backup',
        'body_too_large',
        'overloaded',
        'store_failed',
      ],
    },
    'post /v1/admin/restore': {
      id: 'restore',
      summary: 'Restores records of a backup, for its operator',
      description:
        'What is there stays, and what was deleted since does not come back. A request can be repeated. A 404 in deployments without `ADMIN_TOKEN`.',
      parameters: [
        query(
          'after',
          'The hash of all records before these: SHA-256 of the hash before and a record, in hexadecimal. Default: zeros, before the first one.',
          { type: 'string', pattern: '^[0-9a-f]{64}$' },
        ),
      ],
      body: { content: { 'application/octet-stream': text }, example: '' },
      answers: { 200: json('What happened to them.', restoredRecords) },
      errors: ['not_forwarded', 'invalid_backup', ...BODY_ERRORS, 'store_failed'],
    },
  },
);

const health = {
  200: json('As of `/healthz`.', schemas.healthy),
  503: json('As of `/healthz`.', schemas.unhealthy),
};

const OPEN = routes(
  { group: 'Deployment', access: 'none', page: 'deploying.md#the-reference' },
  {
    'get /': { id: 'getFrontPage', summary: 'What this is', answers: html, page: 'inspector.md' },
    'get /inspect': {
      id: 'getInspector',
      summary: 'The inspector, a page that shows what the model saw',
      description: 'The page itself asks for a key.',
      answers: html,
      page: 'inspector.md',
    },
    'get /inspect/{file}': {
      id: 'getInspectorFile',
      summary: 'A file of the inspector',
      parameters: [
        inPath(
          'file',
          'Its script, its style sheet, or one of the parts that the script loads late.',
          { type: 'string' },
          'inspector.css',
        ),
      ],
      ...revalidated({ description: 'The file.', content: { 'text/javascript': text, 'text/css': text } }),
      errors: ['not_forwarded'],
      page: 'inspector.md',
    },
    'get /healthz': {
      id: 'getHealth',
      summary: 'Whether requests can be answered',
      answers: {
        200: json('The Worker runs, and its configuration is valid.', schemas.healthy),
        503: json(
          'The configuration is invalid, and every request fails. The log names the variable.',
          schemas.unhealthy,
        ),
      },
      page: 'deploying.md#routes',
    },
    'get /health': {
      id: 'getHeadroomHealth',
      summary: "Whether requests can be answered, as Headroom's users ask",
      answers: health,
      page: 'deploying.md#routes',
    },
    'get /api/hello': {
      id: 'getHello',
      summary: 'Whether requests can be answered, as Claude Code asks',
      answers: health,
      page: 'messages-api.md#claude-code',
    },
    'get /openapi.json': {
      id: 'getOpenApi',
      summary: 'The reference as an OpenAPI document',
      ...revalidated(json('An OpenAPI document of version 3.1.', { type: 'object' })),
    },
    'get /docs': {
      id: 'getReference',
      summary: 'The reference as a page',
      ...revalidated({ description: 'The page.', content: { 'text/html': text } }),
    },
    'get /docs/{page}': {
      id: 'getPage',
      summary: 'A page of the documentation: HTML for browsers, else Markdown',
      parameters: [
        inPath(
          'page',
          "The page's file, as `/llms.txt` lists it. Without `.md`, a request that accepts `text/html` gets HTML.",
          { type: 'string', pattern: '^[a-z-]+(\\.md)?$' },
          'modes.md',
        ),
      ],
      ...revalidated({ description: 'The page.', content: { 'text/markdown': text, 'text/html': text } }),
      errors: ['not_forwarded'],
    },
    'get /docs/search': {
      id: 'searchDocs',
      summary: 'A search over all pages of the documentation',
      parameters: [query('q', 'Words. Sections that have all of them are found.', text, 'budget')],
      answers: { 200: { description: 'The sections.', content: { 'text/html': text } } },
    },
    'get /llms.txt': {
      id: 'getLlmsTxt',
      summary: 'What Precis is, and where its pages are, for language models',
      ...revalidated({ description: 'In the form of llmstxt.org.', content: { 'text/plain': text } }),
    },
  },
);

export const STORED: readonly Operation[] = [...REFS, ...BLOCKS, ...OF_CALLERS, ...OF_OPERATORS, ...OPEN];
