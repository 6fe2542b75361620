/** `/` and `/inspect`: the inspector, a page that is served from the bundle (docs/inspector.md). */
import { urlOf } from '../../lib/request-url.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import type { RouteContext } from '../context.ts';
import { isHealthy } from '../health.ts';
import { frontPage, inspectorPage } from './page.ts';

/**
 * The page's files by name. They are data and are loaded when somebody asks for them, so no model
 * request pays for them. `tools/inspector.ts` writes them.
 */
async function load(): Promise<ReadonlyMap<string, PageFile>> {
  const { default: contents } = await import('../../../generated/inspector.bin');
  const files = JSON.parse(new TextDecoder().decode(contents)) as Record<string, string>;
  return new Map(
    Object.entries(files).map(([name, text]) => [name, { text, etag: `"${sha256Hex(text).slice(0, 32)}"` }]),
  );
}

interface PageFile {
  readonly text: string;
  readonly etag: string;
}

let files: Promise<ReadonlyMap<string, PageFile>> | undefined;

/** The end of a name with a hash of the contents, under which there is never anything else. */
const HASHED = /-[A-Z0-9]{8}\.js$/;

/**
 * Nothing from another origin, nothing inline, no frame around the page, and no string becomes
 * markup or code.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  // Asked again each time, and answered by a 304 unless the deployment has changed.
  'cache-control': 'no-cache',
};

/** `GET /`. It says as much of the configuration as `GET /healthz`. */
export function getFrontPage({ env, req }: RouteContext): Response {
  const { origin, hostname } = urlOf(req.raw);
  return page(
    frontPage({ origin, isHealthy: isHealthy(env, hostname), keyOptional: env.LOCAL_TENANT !== undefined }),
  );
}

/** `GET /inspect`. It needs no key and no configuration: it says nothing about the deployment. */
export function getInspector({ env }: RouteContext): Response {
  return page(inspectorPage({ keyOptional: env.LOCAL_TENANT !== undefined }));
}

export async function getInspectorFile(c: RouteContext): Promise<Response> {
  const name = c.req.param('file') ?? '';
  files ??= load();
  const file = (await files).get(name);
  if (!file) return c.notFound();
  const { text, etag } = file;
  const kept = HASHED.test(name) ? { 'cache-control': 'public, max-age=31536000, immutable' } : {};
  const headers = { ...HEADERS, ...kept, etag };
  if (c.req.header('if-none-match') === etag) return new Response(null, { status: 304, headers });
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
  return new Response(text, { headers: { ...headers, 'content-type': `${type}; charset=utf-8` } });
}

function page(html: string): Response {
  return new Response(html, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } });
}
