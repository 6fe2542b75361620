/** The routes of conversations, of users and of statistics. */
import * as z from 'zod';
import { own, SETTINGS, WHOLE } from '../bodies.ts';
import { MEMORY_HEADERS } from '../headers.ts';
import type { Operation, Parameter, Sample } from '../operation.ts';
import * as schemas from '../schemas/conversations.ts';

export const ID: Parameter = {
  name: 'id',
  in: 'path',
  description: "The conversation's id, as its requests name it.",
  schema: { type: 'string', minLength: 1, maxLength: 256 },
  example: 'case-4711',
};

export const USER: Parameter = {
  name: 'user',
  in: 'query',
  description: 'The user of its requests, if they name one; the header `x-memory-user` does too.',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
};

const USER_IN_PATH: Parameter = {
  name: 'user',
  in: 'path',
  description: 'The user, as requests name it.',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
  example: 'ann',
};

export const LIMIT = (usual: number, largest: number): Parameter => ({
  name: 'limit',
  in: 'query',
  description: 'The largest number of entries on a page.',
  schema: { type: 'integer', minimum: 1, maximum: largest, default: usual },
  example: usual,
});

export const CURSOR: Parameter = {
  name: 'cursor',
  in: 'query',
  description: 'The `cursor` of the previous page.',
  schema: { type: 'string' },
};

/** How the openai client calls a route that it has no method for. */
export function clientSample(call: string): readonly Sample[] {
  const source = `const client = new OpenAI({ baseURL: \`\${HOST}/v1\`, apiKey: KEY });\n${call}`;
  return [{ lang: 'TypeScript', label: 'openai (TypeScript)', source }];
}

const named = { parameters: [ID, USER], headers: ['x-memory-user'] } as const;

const memory = '/v1/conversations/{id}/memory';
const page = 'conversations.md';

export const CONVERSATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/conversations',
    id: 'listConversations',
    group: 'Conversations',
    summary: "The key's conversations, sorted or searched",
    description: 'With `status`, a page that is not the last may be shorter than its limit, or empty.',
    access: 'caller',
    parameters: [
      LIMIT(20, 100),
      CURSOR,
      {
        name: 'status',
        in: 'query',
        description: 'Only those with this status.',
        schema: { type: 'string', enum: ['healthy', 'degraded', 'stuck'] },
      },
      {
        name: 'q',
        in: 'query',
        description: 'Only those whose id, user, opening or newest model contains this text.',
        schema: { type: 'string', maxLength: 256 },
      },
      {
        name: 'sort',
        in: 'query',
        description:
          'By when they were first seen, by their last use, by their requests, or by their net savings.',
        schema: { type: 'string', enum: ['created', 'used', 'requests', 'net'], default: 'created' },
      },
      {
        name: 'order',
        in: 'query',
        description: 'Where the value of `sort` is not known, a conversation comes last in either order.',
        schema: { type: 'string', enum: ['desc', 'asc'], default: 'desc' },
      },
    ],
    answers: {
      200: { description: 'A page.', content: { 'application/json': schemas.conversationPage } },
    },
    samples: clientSample("const { data } = await client.get('/conversations');"),
    page: `${page}#all-conversations`,
  },
  {
    method: 'get',
    path: memory,
    id: 'getConversationMemory',
    group: 'Conversations',
    summary: "A conversation's settings and summaries",
    access: 'caller',
    ...named,
    answers: {
      200: { description: 'The memory.', content: { 'application/json': schemas.conversationMemory } },
    },
    errors: ['conversation_not_found'],
    samples: clientSample("const memory = await client.get('/conversations/case-4711/memory');"),
    page,
  },
  {
    method: 'put',
    path: memory,
    id: 'restoreConversationMemory',
    group: 'Conversations',
    summary: 'Sets the settings and the newest text of an answer of `GET`',
    access: 'caller',
    ...named,
    body: {
      content: { 'application/json': own('SentMemory') },
      example: { memory_strategy: null, memory_injection: null, memories: [] },
    },
    answers: {
      200: { description: 'The memory.', content: { 'application/json': schemas.conversationMemory } },
    },
    errors: [
      'invalid_json',
      'invalid_memory_strategy',
      'body_too_large',
      'overloaded',
      'unsupported_media_type',
    ],
    page: `${page}#moving-a-conversation`,
  },
  {
    method: 'patch',
    path: memory,
    id: 'configureConversation',
    group: 'Conversations',
    summary: 'Changes the settings that the body names; null erases one',
    access: 'caller',
    ...named,
    body: {
      content: { 'application/json': SETTINGS },
      example: { memory_strategy: { mode: 'summarize', context_limit: 16 }, memory_injection: true },
    },
    answers: {
      200: { description: 'The memory.', content: { 'application/json': schemas.conversationMemory } },
    },
    errors: [
      'invalid_json',
      'invalid_memory_strategy',
      'body_too_large',
      'overloaded',
      'unsupported_media_type',
      'conversation_not_found',
    ],
    page,
  },
  {
    method: 'delete',
    path: memory,
    id: 'deleteConversationMemory',
    group: 'Conversations',
    summary: 'Deletes its summaries, archive and settings, and contents that only it refers to',
    access: 'caller',
    ...named,
    answers: {
      200: { description: 'Deleted.', content: { 'application/json': schemas.deletedConversation } },
      202: {
        description: 'The deletion continues.',
        content: { 'application/json': schemas.deletedConversation },
      },
    },
    errors: ['conversation_not_found'],
    page,
  },
  {
    method: 'post',
    path: `${memory}/flush`,
    id: 'flushConversationMemory',
    group: 'Conversations',
    summary: 'Waits until nothing is being made in the background, 60 seconds at most',
    access: 'caller',
    ...named,
    answers: {
      200: { description: 'It is up to date.', content: { 'application/json': schemas.flushedMemory } },
      202: {
        description: 'Something is still being made, or the newest version could not be made.',
        content: { 'application/json': schemas.flushedMemory },
      },
    },
    errors: ['conversation_not_found'],
    page,
  },
  {
    method: 'get',
    path: '/v1/conversations/{id}/messages',
    id: 'listArchivedMessages',
    group: 'Conversations',
    summary: "A conversation's archive, in order, or a search of it",
    access: 'caller',
    parameters: [
      ID,
      USER,
      LIMIT(20, 100),
      CURSOR,
      {
        name: 'q',
        in: 'query',
        description: 'Words to search for, best match first.',
        schema: { type: 'string', minLength: 1, maxLength: 256 },
      },
    ],
    headers: ['x-memory-user'],
    answers: {
      200: {
        description: 'A page.',
        content: { 'application/json': schemas.messagePage },
        headers: ['x-memory-warning'],
      },
    },
    errors: ['conversation_not_found'],
    page: `${page}#the-archive`,
  },
  {
    method: 'post',
    path: '/v1/conversations/{id}/end',
    id: 'endConversation',
    group: 'Conversations',
    summary: "Makes its final summary and publishes it to the user's other conversations",
    access: 'caller',
    parameters: [ID, USER],
    headers: MEMORY_HEADERS,
    body: {
      content: { 'application/json': WHOLE },
      example: {
        model: 'gpt-6-luna',
        messages: [
          { role: 'user', content: 'My order has not come.' },
          { role: 'assistant', content: 'It was sent on Monday.' },
        ],
      },
    },
    answers: {
      200: { description: 'The summary.', content: { 'application/json': schemas.endedConversation } },
      202: {
        description: 'The summary is still being made, and will be published.',
        content: { 'application/json': schemas.endedConversation },
      },
    },
    errors: [
      'invalid_json',
      'invalid_memory_strategy',
      'invalid_messages',
      'invalid_encrypted_content',
      'thread_unsupported_request',
      'body_too_large',
      'overloaded',
      'unsupported_media_type',
      'not_forwarded',
    ],
    page: `${page}#memory-across-conversations`,
  },
  {
    method: 'get',
    path: '/v1/stats',
    id: 'getStats',
    group: 'Conversations',
    summary: 'How long the summaries of the newest 100 conversations took, or sums by day',
    access: 'caller',
    parameters: [
      {
        name: 'days',
        in: 'query',
        description: 'Asks for what was sent and cost on this many days, until today, instead of the times.',
        schema: { type: 'integer', minimum: 1, maximum: 90 },
      },
    ],
    answers: {
      200: {
        description: 'Times; with `days`, sums by day.',
        content: { 'application/json': z.union([schemas.stats, schemas.statsByDay]) },
      },
    },
    page: `${page}#all-conversations`,
  },
  {
    method: 'get',
    path: '/v1/users/{user}/memory',
    id: 'getUserMemory',
    group: 'Users',
    summary: "The summaries that a user's new conversations get",
    access: 'caller',
    parameters: [USER_IN_PATH],
    answers: { 200: { description: 'The memory.', content: { 'application/json': schemas.userMemory } } },
    page: `${page}#seeing-and-correcting-it`,
  },
  {
    method: 'delete',
    path: '/v1/users/{user}/memory',
    id: 'deleteUserMemory',
    group: 'Users',
    summary: "Deletes all of a user's summaries",
    access: 'caller',
    parameters: [USER_IN_PATH],
    answers: {
      200: { description: 'Deleted.', content: { 'application/json': schemas.deletedUser } },
      202: { description: 'The deletion continues.', content: { 'application/json': schemas.deletedUser } },
    },
    errors: ['conversation_not_found'],
    page: `${page}#seeing-and-correcting-it`,
  },
  {
    method: 'delete',
    path: '/v1/users/{user}/memory/{conversation}',
    id: 'deleteUserMemoryEntry',
    group: 'Users',
    summary: 'Deletes one of them',
    access: 'caller',
    parameters: [
      USER_IN_PATH,
      {
        name: 'conversation',
        in: 'path',
        description: "The conversation's id, as `GET` lists it.",
        schema: { type: 'string', minLength: 1, maxLength: 256 },
        example: 'case-4711',
      },
    ],
    answers: {
      200: { description: 'Deleted.', content: { 'application/json': schemas.deletedUserEntry } },
      202: {
        description: 'The deletion continues.',
        content: { 'application/json': schemas.deletedUserEntry },
      },
    },
    errors: ['conversation_not_found'],
    page: `${page}#seeing-and-correcting-it`,
  },
];
