/**
 * The reference: `/openapi.json`, `/docs`, `/docs/{page}` with a search, and `/llms.txt`. It is the
 * same for everybody and holds nothing of the deployment but the version, so it needs no key. It is
 * loaded and made when it is first asked for.
 *
 * The bundler loads late whatever `reference/` imports, for everybody. So no file of it imports a
 * value of a module that a request runs, except of leaves: schemas and lists that import only each
 * other. All else is handed over (`ApiParts`). Of the shapes that the reference alone reads, other
 * code imports the types, since a schema that is made at the start of a Worker costs its time.
 * `test/unit/repository/late-modules.test.ts` lists the leaves and checks this.
 */
import { createHash } from 'node:crypto';
import { version } from '../../package.json';
import { createObjectLog, logCaught } from '../log.ts';
import { modes } from '../memory/modes/table.ts';
import { injectionSchema } from '../memory/strategy/injection.ts';
import { blocksSchema } from '../memory/strategy/memory-blocks.ts';
import type { ApiDocument } from '../reference/document.ts';
import type { Text } from '../reference/pages.ts';
import { internalError } from '../request/errors.ts';
import { heldSummarySchema } from '../request/sent-summary.ts';
import type { RouteContext } from './context.ts';
import { sentOverviewSchema } from './conversations/sent-overview.ts';

/** A text with its hash, as it is sent. */
interface Made {
  readonly text: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Those that were made in this isolate, by path. */
const made = new Map<string, Promise<Made>>();

const HTML = 'text/html; charset=utf-8';

const SAFE = {
  // A page is Markdown or HTML.
  vary: 'accept',
  // A deployment may change, and revalidation is a 304.
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** `GET /openapi.json`. */
export function getOpenApi(c: RouteContext): Promise<Response> {
  return answer(c, 'application/json', async () => JSON.stringify(await documentOf()));
}

/** `GET /docs`: the document as a page. */
export function getReference(c: RouteContext): Promise<Response> {
  return answer(c, HTML, async () => {
    const { pageOf } = await reference();
    return pageOf(await documentOf());
  });
}

/**
 * `GET /docs/{page}`: a page of the documentation. With `.md` it is Markdown; without, HTML for
 * whoever asks for HTML, which browsers do, and Markdown for all others.
 */
export async function getPage(c: RouteContext): Promise<Response> {
  const { PAGES, docPage } = await reference();
  const asked = c.req.param('page') ?? '';
  const name = PAGES.has(asked) ? asked : `${asked}.md`;
  const page = PAGES.get(name);
  if (!page) return c.notFound();
  const isHtml = asked !== name && asksForHtml(c.req.header('accept'));
  // A path can be escaped in thousands of ways, and each would be kept.
  if (isHtml) return answer(c, HTML, async () => docPage(name, await textOf(page)), `/docs/${name}#html`);
  return answer(c, 'text/markdown; charset=utf-8', () => textOf(page), `/docs/${name}`);
}

/** `GET /docs/search?q=`: the sections that have all words of `q`, for browsers. */
export async function searchDocs(c: RouteContext): Promise<Response> {
  const { searchPage } = await reference();
  const { text, headers } = madeOf(await searchPage(c.req.query('q') ?? ''), HTML);
  return new Response(text, { headers: { ...SAFE, ...headers } });
}

/** Whoever names Markdown has it, whatever else is named. */
function asksForHtml(accept = ''): boolean {
  return /text\/html/i.test(accept) && !/text\/markdown/i.test(accept);
}

/** `GET /llms.txt`. */
export function getLlmsText(c: RouteContext): Promise<Response> {
  return answer(c, 'text/plain; charset=utf-8', async () => textOf((await reference()).LLMS_TEXT));
}

async function textOf(page: Text): Promise<string> {
  return (await page.load()).default;
}

function reference() {
  return import('../reference/reference.ts');
}

async function documentOf(): Promise<ApiDocument> {
  const { apiDocument } = await reference();
  return apiDocument({
    version,
    modes,
    memoryInjection: injectionSchema,
    memoryBlocks: blocksSchema,
    memorySummary: heldSummarySchema,
    sentMemory: sentOverviewSchema(),
  });
}

async function answer(
  c: RouteContext,
  type: string,
  make: () => Promise<string>,
  path = c.req.path,
): Promise<Response> {
  const { text, etag, headers } = await makeOnce(c, path, async () => madeOf(await make(), type));
  if (isKnown(c.req.header('if-none-match'), etag))
    return new Response(null, { status: 304, headers: { ...SAFE, etag } });
  return new Response(text, { headers: { ...SAFE, ...headers, etag } });
}

/** @throws ApiError `internal_error`, logged, if it can't be made; the next request tries again */
async function makeOnce(c: RouteContext, path: string, make: () => Promise<Made>): Promise<Made> {
  const making = made.get(path) ?? make();
  made.set(path, making);
  try {
    return await making;
  } catch (error) {
    made.delete(path);
    logCaught(createObjectLog(c.env), 'error', 'the reference could not be made', error);
    throw internalError();
  }
}

function madeOf(text: string, type: string): Made {
  const headers = { 'content-type': type, ...(type.startsWith('text/html') ? policyOf(text) : {}) };
  return { text, etag: `"${sha256(text, 'hex').slice(0, 32)}"`, headers };
}

/** A page has its own style and the form of the search: no script, no image, no frame. */
function policyOf(html: string): Record<string, string> {
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? [];
  const sources = `style-src 'sha256-${sha256(style, 'base64')}'; img-src data:`;
  return {
    'content-security-policy': `default-src 'none'; ${sources}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  };
}

function sha256(text: string, encoding: 'hex' | 'base64'): string {
  return createHash('sha256').update(text).digest(encoding);
}

/** Whether the caller has this version (RFC 9110, section 13.1.2). */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const known = header.split(',').map((one) => one.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}
