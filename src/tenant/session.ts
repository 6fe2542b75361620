/**
 * Sign-ins of the inspector (SECURITY.md). A sign-in holds the secret that was entered, sealed by a
 * key that no tenant has, so that the browser keeps a text from which only this deployment can read
 * the secret:
 *
 *     precis-session-{kept|page}- base64url( envelope of JSON )
 *
 * A _kept_ one lasts, and does nothing but renew the sign-in. A _page_ one is sent in place of the
 * key, and ends after minutes.
 */
import * as z from 'zod';
import { openText, sealText } from './envelope.ts';
import type { Tenants } from './identity.ts';

export type SessionUse = 'kept' | 'page';

const sessionSchema = z.strictObject({
  /** Whose routes it opens. */
  of: z.enum(['caller', 'operator']),
  /** How the secret was sent. */
  header: z.enum(['authorization', 'x-api-key']),
  /** The header's value. */
  value: z.string(),
  /** When somebody signed in, in milliseconds since 1970. */
  started: z.int(),
  /** In milliseconds since 1970. */
  ends: z.int(),
  /** What a request with the cookie must also say; absent: it is kept in no cookie. */
  csrf: z.string().optional(),
});

export type Session = Readonly<z.infer<typeof sessionSchema>>;

/** How each begins. */
export const SESSION_PREFIX = 'precis-session-';

const ANY = /^precis-session-(kept|page)-([\w-]+)$/;

/** @returns the text of the sign-in, of the characters of a token (RFC 6750) */
export async function sealSession(tenants: Tenants, use: SessionUse, session: Session): Promise<string> {
  const deployment = tenants.ofDeployment();
  const sealed = await sealText(deployment, 'session', nameOf(use), JSON.stringify(session));
  return `${SESSION_PREFIX}${use}-${sealed}`;
}

/**
 * @param now in milliseconds
 * @returns undefined if the text is damaged, of another deployment or for another use, or has ended
 */
export async function openSession(
  tenants: Tenants,
  use: SessionUse,
  text: string,
  now: number,
): Promise<Session | undefined> {
  const [, found, sealed = ''] = ANY.exec(text) ?? [];
  if (found !== use) return undefined;
  const plain = await openText(tenants.ofDeployment(), 'session', [nameOf(use)], sealed);
  const { data: session } = sessionSchema.safeParse(plain && JSON.parse(plain));
  return session && now < session.ends ? session : undefined;
}

function nameOf(use: SessionUse): string {
  return `session:${use}`;
}
