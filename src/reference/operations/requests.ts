/** The routes of the events of a conversation's requests. */
import { ARRAY } from '../bodies.ts';
import { BODY_ERRORS, inPath, json, type Operation, routes, sent } from '../operation.ts';
import * as schemas from '../schemas/requests.ts';
import { CURSOR, LIMIT, named } from './conversations.ts';

const N = inPath('n', 'Counts the requests of the conversation from 1.', { type: 'integer', minimum: 1 }, 1);

const ofOne = {
  ...named,
  parameters: [...named.parameters, N],
  errors: ['conversation_not_found', 'request_not_found'],
} as const;

export const REQUESTS: readonly Operation[] = routes(
  { group: 'Conversations', access: 'caller', page: 'conversations.md' },
  {
    'get /v1/conversations/{id}/requests': {
      id: 'listRequests',
      summary: 'The events of its requests, newest first',
      ...named,
      parameters: [...named.parameters, LIMIT(20, 500), CURSOR],
      answers: { 200: json('A page.', schemas.requestPage) },
      errors: ['conversation_not_found'],
    },
    'get /v1/conversations/{id}/requests/{n}': {
      id: 'getRequest',
      summary: "One event, with the outline of the request's view",
      ...ofOne,
      answers: { 200: json('The event.', schemas.outlinedRun) },
    },
    'get /v1/conversations/{id}/requests/{n}/why': {
      id: 'explainRequest',
      summary: 'Why the request was shortened, or was not, in a paragraph',
      ...ofOne,
      answers: { 200: json('Why.', schemas.requestWhy) },
    },
    'post /v1/conversations/{id}/requests/{n}/view': {
      id: 'showRequestEdits',
      summary: 'What the view had instead of each edited content, made again from the array',
      description:
        'The body has the array of the request, as `messages` or `input`. Nothing is stored, and no model is asked.',
      ...ofOne,
      body: sent(ARRAY, { messages: [{ role: 'user', content: 'How are sales?' }] }),
      answers: { 200: json('The edits, in order.', schemas.shownEditList) },
      errors: [
        'invalid_json',
        'invalid_messages',
        ...BODY_ERRORS,
        'invalid_encrypted_content',
        ...ofOne.errors,
      ],
      page: 'conversations.md#requests',
    },
  },
);
