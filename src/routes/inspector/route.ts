/** `/` and `/inspect`: the inspector, a page that is served from the bundle (docs/inspector.md). */
import type { Context } from 'hono';
import { urlOf } from '../../lib/request-url.ts';
import type { AppEnv } from '../../request/services.ts';
import { isHealthy } from '../health.ts';
import { frontPage, inspectorPage } from './page.ts';

/**
 * The page's files. They are data and are loaded when somebody asks for them, so no model request
 * pays for them. `tools/inspector.ts` writes them.
 */
const ASSETS = {
  'inspector.js': {
    type: 'text/javascript; charset=utf-8',
    load: () => import('../../../generated/inspector.js.bin'),
  },
  'inspector.css': {
    type: 'text/css; charset=utf-8',
    load: () => import('../../../generated/inspector.css.bin'),
  },
} as const;

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
export function getFrontPage({ env, req }: Context<AppEnv>): Response {
  const { origin, hostname } = urlOf(req.raw);
  return page(
    frontPage({ origin, isHealthy: isHealthy(env, hostname), keyOptional: env.LOCAL_TENANT !== undefined }),
  );
}

/** `GET /inspect`. It needs no key and no configuration: it says nothing about the deployment. */
export function getInspector({ env }: Context<AppEnv>): Response {
  return page(inspectorPage({ keyOptional: env.LOCAL_TENANT !== undefined }));
}

/** `GET /inspect/{file}` */
export async function getInspectorFile(c: Context<AppEnv>): Promise<Response> {
  const name = c.req.param('file') ?? '';
  if (!isAsset(name)) return c.notFound();
  const { type, load } = ASSETS[name];
  const contents = (await load()).default;
  const etag = `"${await digestOf(name, contents)}"`;
  const headers = { ...HEADERS, etag };
  if (c.req.header('if-none-match') === etag) return new Response(null, { status: 304, headers });
  return new Response(contents, { headers: { ...headers, 'content-type': type } });
}

function isAsset(name: string): name is keyof typeof ASSETS {
  return Object.hasOwn(ASSETS, name);
}

/** The digests of the files, which never change in an isolate. */
const digests = new Map<string, string>();

async function digestOf(name: string, contents: ArrayBuffer): Promise<string> {
  const known = digests.get(name);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', contents));
  const digest = [...bytes.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  digests.set(name, digest);
  return digest;
}

function page(html: string): Response {
  return new Response(html, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } });
}
