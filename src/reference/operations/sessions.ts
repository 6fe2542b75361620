/** The routes of the inspector's sign-ins, for callers and for the operator. */
import { BODY_ERRORS, json, type Operation, query, routes, sent } from '../operation.ts';
import { deletedSession, session, sessionBody } from '../schemas/sessions.ts';

const ERRORS = ['invalid_value', 'session_ended', 'forbidden_origin', 'store_failed'] as const;

const SHARED = { group: 'Deployment', page: 'inspector.md#signing-in', errors: ERRORS } as const;

const signIn = {
  summary: 'Signs in to the inspector, or renews the sign-in that the browser keeps',
  description:
    'A sign-in begins with the key and a body. To renew it, send neither, but what is kept: the header `x-precis-session`, or the cookie and `x-precis-csrf`.',
  body: sent(sessionBody, { keep: 'tab' }),
  answers: { 200: json('The sign-in.', session) },
};

const signOut = {
  summary: 'Signs out this browser, or everywhere',
  parameters: [
    query('everywhere', 'Whether all sign-ins of the key end: `true` or `false`.', { type: 'string' }),
  ],
  answers: { 200: json('Signed out.', deletedSession) },
};

export const SESSIONS: readonly Operation[] = [
  ...routes(
    { ...SHARED, access: 'caller' },
    {
      'post /v1/session': { id: 'postSession', ...signIn, errors: [...ERRORS, ...BODY_ERRORS] },
      'delete /v1/session': { id: 'deleteSession', ...signOut },
    },
  ),
  ...routes(
    { ...SHARED, access: 'admin', errors: [...ERRORS, 'not_forwarded'] },
    {
      'post /v1/admin/session': {
        id: 'postAdminSession',
        ...signIn,
        errors: [...ERRORS, ...BODY_ERRORS, 'not_forwarded'],
      },
      'delete /v1/admin/session': { id: 'deleteAdminSession', ...signOut },
    },
  ),
];
