/** The routes by which an operator sees and changes callers, and of the inspector's sign-ins. */
import { BODY_ERRORS, deletion, inPath, json, type Operation, query, routes, sent } from '../operation.ts';
import { caller, callerChange, callerDeletion, callerPage, overview } from '../schemas/admin.ts';
import { deletedSession, session, sessionBody } from '../schemas/stored.ts';
import { CURSOR, LIMIT, PERIOD } from './conversations.ts';

const NAME = inPath(
  'name',
  'The name of an access key, or the short name of a tenant.',
  { type: 'string' },
  'alice',
);

const body = sent(callerChange, { limits: { usd_per_day: 5 } });

const OF_ONE = ['not_forwarded', 'caller_not_found', 'store_failed'] as const;
const ofOne = { parameters: [NAME], answers: { 200: json('The caller.', caller) }, errors: OF_ONE };
const changing = { ...ofOne, body, errors: [...OF_ONE, 'invalid_json', 'invalid_value'] as const };

export const CALLERS: readonly Operation[] = routes(
  { group: 'Deployment', access: 'admin', page: 'operating.md#callers' },
  {
    'get /v1/admin/overview': {
      id: 'getOverview',
      summary: 'What all callers together have sent, saved and cost, and what needs attention',
      description:
        "From the sums of the tenants that were seen last: no content, no conversation's name. A 404 in deployments without `ADMIN_TOKEN`.",
      parameters: [
        PERIOD,
        query(
          'most',
          'How many tenants are asked; each is a call of storage. More than 40 need the paid plan.',
          { type: 'integer', minimum: 1, maximum: 400, default: 40 },
          40,
        ),
      ],
      answers: { 200: json('The overview.', overview) },
      errors: ['not_forwarded', 'invalid_value', 'store_failed'],
      page: 'operating.md#the-overview',
    },
    'get /v1/admin/callers': {
      id: 'listCallers',
      summary: 'All callers with their use and cost, for the operator',
      description: 'Never what they have sent. A 404 in deployments without `ADMIN_TOKEN`.',
      parameters: [LIMIT(20, 20), CURSOR],
      answers: { 200: json('A page: names of access keys in order, then other tenants.', callerPage) },
      errors: ['not_forwarded', 'invalid_value', 'store_failed'],
    },
    'get /v1/admin/callers/{name}': { id: 'getCaller', summary: 'One caller', ...ofOne },
    'put /v1/admin/callers/{name}': {
      id: 'putCaller',
      summary: 'Adds a caller, or sets its state and limits',
      description:
        'What the body leaves out has its default. A deleted caller is added again, without its data.',
      ...changing,
      answers: { ...ofOne.answers, 201: json('The caller is new. `access_key` is shown once.', caller) },
    },
    'patch /v1/admin/callers/{name}': {
      id: 'patchCaller',
      summary: 'Changes the state, the limits or the key of a caller',
      ...changing,
    },
    'delete /v1/admin/callers/{name}': {
      id: 'deleteCaller',
      summary: 'Deletes a caller with all its data, and refuses its key',
      description: 'Also while the key is in `ACCESS_KEYS`.',
      ...ofOne,
      answers: deletion(callerDeletion),
    },
  },
);

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
