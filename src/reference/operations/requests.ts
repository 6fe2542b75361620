/** The routes of the events of a conversation's requests. */

import { ARRAY } from '../bodies.ts';
import type { Operation, Parameter } from '../operation.ts';
import * as schemas from '../schemas/requests.ts';
import { CURSOR, ID, LIMIT, USER } from './conversations.ts';

const N: Parameter = {
  name: 'n',
  in: 'path',
  description: 'Counts the requests of the conversation from 1.',
  schema: { type: 'integer', minimum: 1 },
  example: 1,
};

const page = 'conversations.md';

export const REQUESTS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/conversations/{id}/requests',
    id: 'listRequests',
    group: 'Conversations',
    summary: 'The events of its requests, newest first',
    access: 'caller',
    parameters: [ID, USER, LIMIT(20, 100), CURSOR],
    headers: ['x-memory-user'],
    answers: { 200: { description: 'A page.', content: { 'application/json': schemas.requestPage } } },
    errors: ['conversation_not_found'],
    page,
  },
  {
    method: 'get',
    path: '/v1/conversations/{id}/requests/{n}',
    id: 'getRequest',
    group: 'Conversations',
    summary: "One event, with the outline of the request's view",
    access: 'caller',
    parameters: [ID, USER, N],
    headers: ['x-memory-user'],
    answers: { 200: { description: 'The event.', content: { 'application/json': schemas.outlinedRun } } },
    errors: ['conversation_not_found', 'request_not_found'],
    page,
  },
  {
    method: 'get',
    path: '/v1/conversations/{id}/requests/{n}/why',
    id: 'explainRequest',
    group: 'Conversations',
    summary: 'Why the request was shortened, or was not, in a paragraph',
    access: 'caller',
    parameters: [ID, USER, N],
    headers: ['x-memory-user'],
    answers: { 200: { description: 'Why.', content: { 'application/json': schemas.requestWhy } } },
    errors: ['conversation_not_found', 'request_not_found'],
    page,
  },
  {
    method: 'post',
    path: '/v1/conversations/{id}/requests/{n}/view',
    id: 'showRequestEdits',
    group: 'Conversations',
    summary: 'What the view had instead of each edited content, made again from the array',
    description:
      'The body has the array of the request, as `messages` or `input`. Nothing is stored, and no model is asked.',
    access: 'caller',
    parameters: [ID, USER, N],
    headers: ['x-memory-user'],
    body: {
      content: { 'application/json': ARRAY },
      example: { messages: [{ role: 'user', content: 'How are sales?' }] },
    },
    answers: {
      200: { description: 'The edits, in order.', content: { 'application/json': schemas.shownEditList } },
    },
    errors: [
      'invalid_json',
      'invalid_messages',
      'body_too_large',
      'overloaded',
      'unsupported_media_type',
      'invalid_encrypted_content',
      'conversation_not_found',
      'request_not_found',
    ],
    page: `${page}#requests`,
  },
];
