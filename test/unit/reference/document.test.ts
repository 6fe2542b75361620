/** The OpenAPI document agrees with the routes, the code and the pages. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { knownFields, MODES } from '../../../src/memory/modes/strategy.ts';
import { OWN_FIELDS } from '../../../src/protocol/body.ts';
import { OPENAI_DOCUMENT } from '../../../src/reference/bodies.ts';
import { anchorOf } from '../../../src/reference/docs/sections.ts';
import type { DocumentedOperation } from '../../../src/reference/document.ts';
import { PAGES } from '../../../src/reference/pages.ts';
import { OPERATIONS } from '../../../src/reference/table.ts';
import { ERRORS } from '../../../src/request/error-codes.ts';
import { sentDocument } from '../../support/deployment/api-parts.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const document = sentDocument();
const { schemas, parameters, headers } = document.components;

/** By method and path, such as `GET /v1/refs/{ref}`. */
const operations = new Map<string, DocumentedOperation>(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const,
    ),
  ),
);

/** All values under a key, anywhere in the document. */
function valuesOf(key: string, tree: unknown = document): unknown[] {
  if (typeof tree !== 'object' || tree === null) return [];
  return Object.entries(tree).flatMap(([name, value]) => [
    ...(name === key ? [value] : []),
    ...valuesOf(key, value),
  ]);
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    // Replaces the document of OpenAI, which the tests don't fetch.
    const names = valuesOf('$ref')
      .map(String)
      .filter((ref) => ref.startsWith(OPENAI_DOCUMENT))
      .map((ref) => [ref.slice(ref.lastIndexOf('/') + 1), {}]);
    await validator.addSpecRef({ components: { schemas: Object.fromEntries(names) } }, OPENAI_DOCUMENT);

    const { valid, errors } = await validator.validate(sentDocument() as never);

    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('would not be valid with a parameter in no place', async () => {
    const broken = sentDocument();
    Object.assign(broken.components.parameters['x-memory-user'] ?? {}, { in: 'nowhere' });

    expect((await new Validator().validate(broken as never)).valid).toBe(false);
  });

  it('refers only to what it has, and to the document of OpenAI', () => {
    const refs = valuesOf('$ref').map(String);
    const known = new Set(
      Object.entries(document.components).flatMap(([kind, all]) =>
        Object.keys(all).map((name) => `#/components/${kind}/${name}`),
      ),
    );
    const others = refs.filter((ref) => !known.has(ref));

    expect(refs.length).toBeGreaterThan(100);
    expect(others.filter((ref) => !ref.startsWith(`${OPENAI_DOCUMENT}#/components/schemas/`))).toEqual([]);
    expect(new Set(others).size).toBeGreaterThan(5);
  });

  it('says of each schema what it is', () => {
    const empty = Object.entries(schemas).filter(
      ([, schema]) => !['type', 'enum', 'oneOf', 'anyOf'].some((key) => key in schema),
    );

    expect(empty).toEqual([]);
  });

  it('has no component that nothing refers to', () => {
    const refs = new Set(valuesOf('$ref'));
    const unused = Object.keys(schemas).filter((name) => !refs.has(`#/components/schemas/${name}`));
    const ofParameters = Object.keys(parameters).filter(
      (name) => !refs.has(`#/components/parameters/${name}`),
    );
    const ofHeaders = Object.keys(headers).filter((name) => !refs.has(`#/components/headers/${name}`));

    // Named in words alone: the JSON of a header.
    expect(unused).toEqual(['RefFacts']);
    expect(ofParameters).toEqual([]);
    expect(ofHeaders).toEqual([]);
  });

  it('names each operation once, and each name in a path is a parameter', () => {
    const ids = [...operations.values()].map(({ operationId }) => operationId);
    const wrong = OPERATIONS.filter(({ path, parameters: own = [] }) => {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const documented = own.filter((one) => one.in === 'path').map(({ name }) => name);
      return inPath.join() !== documented.join();
    });

    expect(new Set(ids).size).toBe(OPERATIONS.length);
    expect(operations.size).toBe(OPERATIONS.length);
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  it('has no status that is an answer and an error', () => {
    const both = OPERATIONS.flatMap(({ id, answers, errors = [], access }) => {
      const codes = access === 'none' ? errors : [...errors, 'invalid_api_key' as const];
      return codes
        .filter((code) => Object.hasOwn(answers, ERRORS[code].status))
        .map((code) => `${id} ${code}`);
    });

    expect(both).toEqual([]);
  });
});

describe('the routes', () => {
  const real = createApp()
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);

  it('are the document’s', () => {
    expect(real.length).toBeGreaterThan(30);
    expect([...operations.keys()].toSorted()).toEqual([...new Set(real)].toSorted());
  });

  it('that a page names are the document’s', () => {
    const pages = [
      'README.md',
      ...readdirSync(join(ROOT, 'docs'))
        .filter((name) => name.endsWith('.md'))
        .map((name) => `docs/${name}`),
    ];
    const patterns = [...operations.keys()].map((route) => {
      const [method = '', path = ''] = route.split(' ');
      return { method, path: new RegExp(`^${path.replace(/\{\w+\}/g, '(?:\\{\\w+\\}|[^/]+)')}$`) };
    });
    const has = (method: string, path: string): boolean =>
      patterns.some(
        (one) =>
          (one.method === method || (method === 'HEAD' && one.method === 'GET')) && one.path.test(path),
      );
    const named = pages.flatMap((page) =>
      [
        ...read(page).matchAll(
          /`((?:GET|HEAD|POST|PUT|PATCH|DELETE)(?:(?:, |\/)(?:GET|HEAD|POST|PUT|PATCH|DELETE))*) (\/[^`\s?]*)/g,
        ),
      ].flatMap(([, methods = '', path = '']) =>
        methods.split(/, |\//).map((method) => ({ page, method, path })),
      ),
    );
    const unknown = named.filter(({ method, path }) => !has(method, path) && !has(method, `/v1${path}`));

    expect(named.length).toBeGreaterThan(60);
    // OpenAI's own, which are forwarded.
    const forwarded = /^(?:\/v1)?\/(?:embeddings|models|conversations(?:\/\{id\})?)$/;
    expect(unknown.filter(({ path }) => !forwarded.test(path))).toEqual([]);
  });

  it('lead to pages that there are, at headings that there are', () => {
    const broken = OPERATIONS.map(({ page }) => page).filter((page) => {
      const [file = '', anchor] = page.split('#');
      if (!PAGES.has(file)) return true;
      const found = [...read(`docs/${file}`).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
        anchorOf(heading),
      );
      return anchor !== undefined && !found.includes(anchor);
    });

    expect(broken).toEqual([]);
  });
});

describe('the names of the code', () => {
  const nameOf = (mode: string): string =>
    `${mode
      .split('_')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join('')}Strategy`;

  it.each(MODES)('has each field of %s, with what it means', (mode) => {
    const schema = schemas[nameOf(mode)] as { properties: Record<string, { description?: string }> };

    expect(Object.keys(schema.properties).toSorted()).toEqual(knownFields(mode).toSorted());
    for (const { description } of Object.values(schema.properties))
      expect(description).toMatch(/^[`A-Z].*\.$/);
  });

  it('has each field of Precis in a body', () => {
    const { properties } = schemas.MemoryFields as { properties: object };

    expect(Object.keys(properties).toSorted()).toEqual([...OWN_FIELDS].toSorted());
  });

  it('has each error code, at each route with its status', () => {
    const { enum: codes } = schemas.ErrorCode as { enum: string[] };
    expect(codes.toSorted()).toEqual(Object.keys(ERRORS).toSorted());

    const answered = [...operations.values()].flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, { description }]) =>
        [...description.matchAll(/^`([a-z_]+)`: /gm)].map(([, code = '']) => `${code} ${status}`),
      ),
    );
    // A route has no operation for the methods that it does not take.
    const { method_not_allowed: _, ...ofRoutes } = ERRORS;
    const wire = Object.entries(ofRoutes).map(([code, { status }]) => `${code} ${status}`);
    expect(document.info.description).toContain('is a 405 (`method_not_allowed`)');
    expect([...new Set(answered)].toSorted()).toEqual(wire.toSorted());
  });

  it('says what each warning and each error code means', () => {
    const { enum: warnings } = schemas.Warning as { enum: string[] };
    for (const [name, codes] of [
      ['Warning', warnings],
      ['ErrorCode', Object.keys(ERRORS)],
    ] as const) {
      const { description } = schemas[name] as { description: string };
      const documented = [...description.matchAll(/^`(\w+)`: [`A-Z].*\.$/gm)].map(([, code]) => code);
      expect(documented.toSorted()).toEqual([...codes].toSorted());
    }
  });

  it('has each header that the code reads or sets', () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.startsWith('reference/'))
      .map((path) => read(join('src', path)));
    const used = sources.flatMap((text) =>
      [...text.matchAll(/'((?:x-memory|x-agent|x-conversation)-[a-z-]*[a-z])'/g)].map(
        ([, name = '']) => name,
      ),
    );
    const documented = new Set([...Object.keys(parameters), ...Object.keys(headers)]);

    expect(new Set(used).size).toBeGreaterThan(15);
    expect(used.filter((name) => !documented.has(name))).toEqual([]);
    const ours = [...documented].filter((name) => name.startsWith('x-memory-'));
    expect(ours.filter((name) => !used.includes(name))).toEqual([]);
  });

  it('shows no value of a variable', () => {
    expect(JSON.stringify(document)).not.toContain('process.env');
    expect(document.servers.map(({ url }) => url)).toEqual(['/', '/agents/{agent}']);
  });
});

describe('/llms.txt', () => {
  it('lists each page of the documentation, in the order of the table', () => {
    const files = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    const listed = [...read('docs/llms.txt').matchAll(/^- \[\S.*?\]\(\/docs\/(.+?)\): \S/gm)];

    expect([...PAGES.keys()].toSorted()).toEqual(files.toSorted());
    expect(listed.map(([, file]) => file)).toEqual([...PAGES.keys()]);
  });

  it('has the order of the README', () => {
    const [, more = ''] = read('README.md').split('\n## More\n');
    const linked = [...more.matchAll(/\]\(docs\/([\w-]+\.md)\)/g)].map(([, file]) => file);

    expect(linked).toEqual([...PAGES.keys()]);
  });
});
