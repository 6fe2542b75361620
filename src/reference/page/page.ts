/**
 * The page at `/docs`: the OpenAPI document as HTML, without a script. What opens is a `<details>`.
 *
 * The document says of each answer what its error codes mean. The page says it once for each code,
 * and links to it from the answers.
 */
import { html } from 'hono/html';
import { workerBar } from '../docs/place.ts';
import type { ApiDocument, DocumentedAnswer, DocumentedOperation } from '../document.ts';
import type { JsonSchema } from '../shape.ts';
import { inShell } from '../shell.ts';
import { anchorOf, type Html, joined, line, meaning, membersOf, prose, typeLine } from './schema.ts';

interface Placed extends DocumentedOperation {
  readonly method: string;
  readonly path: string;
}

const ACCESS: Readonly<Record<string, string>> = {
  caller: 'Needs a key.',
  metrics: 'Needs the `METRICS_TOKEN` of the deployment.',
  admin: 'Needs the `ADMIN_TOKEN` of the deployment.',
};

/** The schema of error codes, whose description has a paragraph for each. */
const ERROR_CODES = 'ErrorCode';

export function pageOf(document: ApiDocument): Promise<string> {
  const { info, tags, components } = document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Placed => ({ ...operation, method, path })),
  );
  const ofGroup = (name: string): readonly Placed[] => operations.filter((one) => one.tags.includes(name));
  return inShell({
    title: `Precis ${info.version}: reference`,
    description: 'Each route, field, header and error of Precis.',
    bar: workerBar(''),
    side: {
      label: 'Routes',
      list: html`<ul class="routes">${tags.map(
        ({ name }) => html`<li><a href="#${slug(name)}">${name}</a><ul>${ofGroup(name).map(entry)}</ul></li>`,
      )}<li><a href="#headers">Headers</a></li><li><a href="#schemas">Schemas</a></li></ul>`,
    },
    main: html`<h1>Precis <span class="quiet">${info.version}</span></h1>
${prose(info.description)}
<p>The same as data: <a href="/openapi.json"><code>/openapi.json</code></a> (OpenAPI 3.1). For language models: <a href="/llms.txt"><code>/llms.txt</code></a>. In the examples, <code>$HOST</code> is this address and <code>$KEY</code> your key.</p>
${tags.map(
  ({ name, description }) =>
    html`<h2 id="${slug(name)}">${name}</h2>${prose(description)}${ofGroup(name).map((one) => sectionOf(one, document))}`,
)}
<h2 id="headers">Headers</h2>
<h3 id="request-headers">Of requests</h3>
${fieldList(Object.values(components.parameters))}
<h3 id="response-headers">Of answers</h3>
${fieldList(Object.entries(components.headers).map(([name, header]) => ({ name, ...header })))}
<h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(
  ([name, schema]) =>
    html`<section><h3 id="${anchorOf(name)}"><a href="#${anchorOf(name)}">${name}</a></h3>${name === ERROR_CODES ? meaningsOf(schema) : about(schema)}${schemaView(schema)}</section>`,
)}`,
    foot: 'Made from the code of this version. This page has no script and loads nothing else.',
  });
}

function entry({ operationId, method, path }: Placed): Html {
  return html`<li><a href="#${operationId}"><small>${method.toUpperCase()}</small> <code>${breakable(path)}</code></a></li>`;
}

/** A path that may be broken before each slash. */
function breakable(path: string): Html {
  return html`${path.split(/(?=\/)/).map((part) => html`<wbr>${part}`)}`;
}

function slug(name: string): string {
  return `group-${name.toLowerCase().replaceAll(' ', '-')}`;
}

function sectionOf(operation: Placed, document: ApiDocument): Html {
  const { operationId, method, path, summary, description, security, externalDocs, requestBody } = operation;
  const [scheme] = security.flatMap((one) => Object.keys(one));
  return html`<section>
<h3 id="${operationId}"><a href="#${operationId}"><span class="method">${method.toUpperCase()}</span><code>${path}</code></a></h3>
<p><strong>${line(summary)}.</strong></p>
${description === undefined ? '' : prose(description)}
<p class="quiet">${line(ACCESS[scheme ?? ''] ?? 'Needs no key.')} More on <a href="${externalDocs.url}">${externalDocs.url.slice('/docs/'.length)}</a>.</p>
${parametersOf(operation, document)}
${
  requestBody
    ? html`<details><summary>Body</summary>${Object.values(requestBody.content).map(({ schema }) => schemaView(schema))}</details>`
    : ''
}
<details><summary>Answers</summary>${Object.entries(operation.responses).map((answer) => answerView(answer, document))}</details>
<details open><summary>Examples</summary>${operation['x-codeSamples'].map(
    ({ label, source }) =>
      html`<h4>${label}</h4><pre tabindex="0" role="region" aria-label="${label}: ${method.toUpperCase()} ${path}"><code>${source}</code></pre>`,
  )}</details>
</section>`;
}

function parametersOf({ parameters }: Placed, { components }: ApiDocument): Html | '' {
  if (parameters.length === 0) return '';
  const known = parameters.map((one) => {
    const name = typeof one.$ref === 'string' ? one.$ref.slice(one.$ref.lastIndexOf('/') + 1) : undefined;
    return name === undefined ? one : (components.parameters[name] ?? one);
  });
  const others = known.filter((one) => one.in !== 'header');
  const headers = known.filter((one) => one.in === 'header').map(({ name }) => String(name));
  return html`<details><summary>Parameters and headers</summary>${others.length > 0 ? fieldList(others) : ''}${
    headers.length > 0
      ? html`<p class="codes"><a href="#request-headers">Headers</a>: ${headers.join(', ')}</p>`
      : ''
  }</details>`;
}

function fieldList(fields: readonly JsonSchema[]): Html {
  return html`<dl>${fields.map(
    ({ name, description, schema, in: place, required }) =>
      html`<dt><code>${name}</code> <i>${typeLine(schema as JsonSchema)}</i>${
        place === undefined || place === 'header' ? '' : html` <span class="quiet">in the ${place}</span>`
      }${required === true ? html` <em>required</em>` : ''}</dt><dd>${meaning(String(description))}</dd>`,
  )}</dl>`;
}

function answerView([status, answer]: [string, DocumentedAnswer], document: ApiDocument): Html {
  const { description, headers, content } = answer;
  const isError = Number(status) >= 400;
  return html`${isError ? '' : html`<h4>${status}</h4>`}${meaningOf(description, document, isError ? status : '')}${
    headers ? html`<p class="codes">Headers: ${Object.keys(headers).join(', ')}</p>` : ''
  }${Object.entries(content ?? {}).map(([type, { schema }]) =>
    !isError
      ? html`<p><code>${type}</code></p>${Object.keys(schema).length > 0 ? schemaView(schema) : ''}`
      : '',
  )}`;
}

/**
 * What an answer means. Paragraphs about an error code are links to that code.
 *
 * @param status before the codes; empty where it has a heading
 */
function meaningOf(description: string, { components }: ApiDocument, status: string): Html {
  const ofCodes = paragraphsOf(components.schemas[ERROR_CODES]);
  const all = description.split('\n\n');
  const words = all.filter((paragraph) => !ofCodes.includes(paragraph));
  const links = all.filter((paragraph) => ofCodes.includes(paragraph)).map(codeOf);
  return html`${words.map(prose)}${
    links.length > 0
      ? html`<p class="codes">${status} ${joined(
          links.map((code) => html`<a href="#${codeAnchor(code)}">${code}</a>`),
          ' · ',
        )}</p>`
      : ''
  }`;
}

function paragraphsOf({ description }: JsonSchema = {}): readonly string[] {
  return typeof description === 'string' ? description.split('\n\n') : [];
}

function codeOf(paragraph: string): string {
  return paragraph.split('`')[1] ?? '';
}

function codeAnchor(code: string): string {
  return `error-${code}`;
}

/** What each error code means, each at an anchor of its own. */
function meaningsOf(schema: JsonSchema): Html {
  return html`${paragraphsOf(schema).map(
    (paragraph) => html`<p id="${codeAnchor(codeOf(paragraph))}">${line(paragraph)}</p>`,
  )}`;
}

function about({ description }: JsonSchema): Html | '' {
  return typeof description === 'string' ? prose(description) : '';
}

function schemaView(schema: JsonSchema): Html {
  return html`<p class="type">${typeLine(schema)}</p>${membersOf(schema)}`;
}
