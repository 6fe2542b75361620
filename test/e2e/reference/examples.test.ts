/** The reference of a deployment, followed word by word: its examples, and what they answer. */
import Ajv2020 from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiDocument, DocumentedOperation } from '../../../src/reference/document.ts';
import type { JsonSchema } from '../../../src/reference/shape.ts';
import { sentDocument } from '../../support/deployment/api-parts.ts';
import { deploy, KEY } from '../../support/deployment/deployment.ts';

const deployment = deploy();
const stranger = (path: string, init: RequestInit = {}) => fetch(`${deployment.url}${path}`, init);

/** Made of the code, to name the cases; the Worker's own is compared with it. */
const expected = sentDocument();
let document: ApiDocument;
/** Has the document's schemas, each of which it compiles once. */
const ajv = new Ajv2020({ strict: false, formats: { date: /^\d{4}-\d\d-\d\d$/ } });

beforeAll(async () => {
  document = (await (await stranger('/openapi.json')).json()) as ApiDocument;
  const schemas = { ...document.components.schemas, Anything: {} };
  ajv.addSchema({ $id: 'document', components: toLocal({ ...document.components, schemas }) });
});

const routes = Object.entries(expected.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [method.toUpperCase(), path, operation] as const),
);

/** OpenAI's own schemas take anything. */
const toLocal = (schema: object): object =>
  JSON.parse(
    JSON.stringify(schema)
      .replace(/"https:\/\/app\.stainless\.com[^"]*"/g, '"#/components/schemas/Anything"')
      .replaceAll('"$ref":"#/', '"$ref":"document#/'),
  );

/** Of a value against a schema of the document. */
function faultsOf(schema: JsonSchema, value: unknown): unknown {
  const validate = ajv.compile(toLocal(schema));
  return validate(value) ? undefined : validate.errors;
}

/** Sends the example of a route, as its curl has it. */
function send({ 'x-codeSamples': [sample] }: DocumentedOperation): Promise<Response> {
  const source = sample?.source.replaceAll(' \\\n ', '') ?? '';
  const [, url = ''] = /"\$HOST([^"]*)"/.exec(source) ?? [];
  const [, method = source.includes(" -d '") ? 'POST' : 'GET'] = / -X ([A-Z]+)/.exec(source) ?? [];
  const headers = [...source.matchAll(/ -H ["']([\w-]+): ([^"']*)["']/g)].map(
    ([, name = '', value = '']) => [name, value.replace('$KEY', KEY)] as [string, string],
  );
  const [, body] = / -d '(.*)'$/.exec(source) ?? [];
  return stranger(url, { method, headers, ...(body === undefined ? {} : { body }) });
}

describe('the document of a deployment', () => {
  it('is its code’s', () => {
    expect(document).toEqual(expected);
  });
});

/** As the deployment's own document has it. */
function operationOf(method: string, path: string): DocumentedOperation {
  const found = Object.entries(document.paths[path] ?? {}).find(([name]) => name === method.toLowerCase());
  if (!found) throw new Error(`the document has no ${method} ${path}`);
  return found[1];
}

describe('the example', () => {
  it.each(routes)('of %s %s gets an answer that the document has', async (method, path) => {
    const { responses, ...operation } = operationOf(method, path);
    const answer = await send({ responses, ...operation });
    const text = await answer.text();

    expect(Object.keys(responses), text.slice(0, 300)).toContain(String(answer.status));
    expect(answer.status, text.slice(0, 300)).toBeLessThan(500);
    const content = responses[answer.status]?.content ?? {};
    const type = answer.headers.get('content-type')?.replace(/;.*$/, '') ?? '';
    const schema = content[type]?.schema ?? content['*/*']?.schema;
    expect(schema, `${type} ${text.slice(0, 200)}`).toBeDefined();
    expect(faultsOf(schema ?? {}, type === 'application/json' ? JSON.parse(text) : text)).toBeUndefined();
  });

  const withBody = routes.filter(([, , { requestBody }]) => requestBody);

  it.each(withBody)('of %s %s has a body that the document takes', (method, path) => {
    const bodies = Object.values(operationOf(method, path).requestBody?.content ?? {});

    expect(bodies).not.toEqual([]);
    for (const { schema, example } of bodies) expect(faultsOf(schema, example)).toBeUndefined();
  });
});

describe('a strategy', () => {
  const schema = { $ref: '#/components/schemas/MemoryStrategy' };

  it.each([
    'auto',
    { mode: 'auto', token_budget: 32_000, rehydrate: { items: 3 }, compact_keep: null },
    { mode: 'trim', max_turns: 4 },
  ])('that Precis takes is valid under the document: %j', async (memory_strategy) => {
    expect(faultsOf(schema, memory_strategy)).toBeUndefined();
    expect((await chat(memory_strategy)).status).toBe(200);
  });

  it.each([
    'unknown',
    { mode: 'auto', token_budgt: 1 },
    { mode: 'trim', max_turns: -1 },
    { mode: 'auto', offload_digest: 'none' },
    {},
  ])('that Precis refuses is not: %j', async (memory_strategy) => {
    expect(faultsOf(schema, memory_strategy)).toBeDefined();
    expect((await chat(memory_strategy)).status).toBe(400);
  });

  it.each([
    { memory_injection: { max_tokens: null, publish: 'on_end' } },
    { memory_blocks: ['team'] },
    { memory_blocks: { labels: ['team'], role: null } },
    { memory_report: null, conversation_id: 7, agent_type: 'coding' },
  ])('and a field that Precis takes is valid under the document: %j', async (fields) => {
    expect(faultsOf({ $ref: '#/components/schemas/MemoryFields' }, fields)).toBeUndefined();
    expect((await chat('auto', fields)).status).toBe(200);
  });

  it.each([
    { memory_injection: { max_tokens: 801 } },
    { memory_blocks: { labels: null } },
    { memory_blocks: 'team' },
    { memory_report: 'yes' },
    { conversation_id: '' },
  ])('and a field that Precis refuses is not: %j', async (fields) => {
    expect(faultsOf({ $ref: '#/components/schemas/MemoryFields' }, fields)).toBeDefined();
    expect((await chat('auto', fields)).status).toBe(400);
  });

  const chat = (memory_strategy: unknown, fields: object = {}) =>
    deployment.postTo('/v1/chat/completions', {
      model: 'gpt-4.1',
      messages: [{ role: 'user', content: 'Hi.' }],
      memory_strategy,
      ...fields,
    });
});
