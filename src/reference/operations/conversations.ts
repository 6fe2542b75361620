/** The routes of conversations, of users and of statistics. */
import * as z from 'zod';
import { own, SETTINGS, WHOLE } from '../bodies.ts';
import { MEMORY_HEADERS } from '../headers.ts';
import {
  BODY_ERRORS,
  clientSample,
  deletion,
  inPath,
  json,
  type Operation,
  type Parameter,
  query,
  routes,
  sent,
} from '../operation.ts';
import * as schemas from '../schemas/conversations.ts';
import { statsComparison } from '../schemas/conversations.ts';

const id = { type: 'string', minLength: 1, maxLength: 256 };

const FROM_0 = { type: 'integer', minimum: 0 };

const ID = inPath('id', "The conversation's id, as its requests name it.", id, 'case-4711');

const USER = query(
  'user',
  'The user of its requests, if they name one; the header `x-memory-user` does too.',
  id,
);

const USER_IN_PATH = inPath('user', 'The user, as requests name it.', id, 'ann');

export function LIMIT(usual: number, largest: number): Parameter {
  const schema = { type: 'integer', minimum: 1, maximum: largest, default: usual };
  return query('limit', 'The largest number of entries on a page.', schema, usual);
}

/** How many days are summed up. */
export const PERIOD = query(
  'days',
  'How many days, until today (UTC).',
  { type: 'integer', minimum: 1, maximum: 90, default: 7 },
  7,
);

const text = z.string();

export const CURSOR = query('cursor', 'The `cursor` of the previous page.', { type: 'string' });

/** Of the routes of one conversation. */
export const named = {
  parameters: [ID, USER],
  headers: ['x-memory-user'],
  errors: ['conversation_not_found'],
} as const;

const page = 'conversations.md';
const memory = json('The memory.', schemas.conversationMemory);
const CHANGE_ERRORS = ['invalid_json', 'invalid_memory_strategy', ...BODY_ERRORS] as const;

const OF_CONVERSATIONS = routes(
  { group: 'Conversations', access: 'caller', page },
  {
    'get /v1/conversations': {
      id: 'listConversations',
      summary: "The key's conversations, sorted or searched",
      description:
        'With `status`, a search or a filter, a page that is not the last may be shorter than its limit, or empty: it looks at a bounded number of conversations.',
      parameters: [
        LIMIT(20, 100),
        CURSOR,
        query('status', 'Only those with this status.', {
          type: 'string',
          enum: ['healthy', 'degraded', 'stuck'],
        }),
        query('q', 'Only those whose id, user, opening or newest model contains this text.', {
          type: 'string',
          maxLength: 256,
        }),
        query(
          'sort',
          'By when they were first seen, by their last use, by their requests, by their net savings, or by what they have cost.',
          { type: 'string', enum: ['created', 'used', 'requests', 'net', 'paid'], default: 'created' },
        ),
        query('order', 'Where the value of `sort` is not known, a conversation comes last in either order.', {
          type: 'string',
          enum: ['desc', 'asc'],
          default: 'desc',
        }),
        query('user', 'Only conversations of this user.', id),
        query('model', 'Only those whose newest request named this model.', id),
        query('agent', 'Only those whose newest request chose this agent.', id),
        query('outcome', 'Only those whose newest request was answered, or has failed.', {
          type: 'string',
          enum: ['answered', 'failed'],
        }),
        query('used_since', 'Only those that were last used then or later, in seconds since 1970.', FROM_0),
        query('used_until', 'Only those that were last used then or earlier, in seconds since 1970.', FROM_0),
        query('paid_from', 'Only conversations that have cost this much or more, in nanodollars.', FROM_0),
        query('paid_to', 'Only conversations that have cost this much or less, in nanodollars.', FROM_0),
      ],
      answers: { 200: json('A page.', schemas.conversationPage) },
      samples: clientSample("const { data } = await client.get('/conversations');"),
      page: `${page}#all-conversations`,
    },
    'get /v1/conversations/{id}/memory': {
      id: 'getConversationMemory',
      summary: "A conversation's settings and summaries",
      ...named,
      answers: { 200: memory },
      samples: clientSample("const memory = await client.get('/conversations/case-4711/memory');"),
    },
    'put /v1/conversations/{id}/memory': {
      id: 'restoreConversationMemory',
      summary: 'Sets the settings and the newest text of an answer of `GET`',
      ...named,
      body: sent(own('SentMemory'), { memory_strategy: null, memory_injection: null, memories: [] }),
      answers: { 200: memory },
      errors: CHANGE_ERRORS,
      page: `${page}#moving-a-conversation`,
    },
    'patch /v1/conversations/{id}/memory': {
      id: 'configureConversation',
      summary: 'Changes the settings that the body names; null erases one',
      ...named,
      body: sent(SETTINGS, {
        memory_strategy: { mode: 'summarize', context_limit: 16 },
        memory_injection: true,
      }),
      answers: { 200: memory },
      errors: [...CHANGE_ERRORS, ...named.errors],
    },
    'delete /v1/conversations/{id}/memory': {
      id: 'deleteConversationMemory',
      summary: 'Deletes its summaries, archive, settings and events, and contents that only it refers to',
      ...named,
      answers: deletion(schemas.deletedConversation),
    },
    'post /v1/conversations/{id}/memory/flush': {
      id: 'flushConversationMemory',
      summary: 'Waits until nothing is being made in the background, 60 seconds at most',
      ...named,
      answers: {
        200: json('It is up to date.', schemas.flushedMemory),
        202: json(
          'Something is still being made, or the newest version could not be made.',
          schemas.flushedMemory,
        ),
      },
    },
    'get /v1/conversations/{id}/messages': {
      id: 'listArchivedMessages',
      summary: "A conversation's archive, in order, or a search of it",
      ...named,
      parameters: [
        ...named.parameters,
        LIMIT(20, 100),
        CURSOR,
        query('q', 'Words to search for, best match first.', id),
      ],
      answers: { 200: json('A page.', schemas.messagePage, ['x-memory-warning']) },
      page: `${page}#the-archive`,
    },
    'post /v1/conversations/{id}/end': {
      id: 'endConversation',
      summary: "Makes its final summary and publishes it to the user's other conversations",
      ...named,
      headers: MEMORY_HEADERS,
      body: sent(WHOLE, {
        model: 'gpt-6-luna',
        messages: [
          { role: 'user', content: 'My order has not come.' },
          { role: 'assistant', content: 'It was sent on Monday.' },
        ],
      }),
      answers: {
        200: json('The summary.', schemas.endedConversation),
        202: json('The summary is still being made, and will be published.', schemas.endedConversation),
      },
      errors: [
        'invalid_json',
        'invalid_memory_strategy',
        'invalid_messages',
        'invalid_encrypted_content',
        'thread_unsupported_request',
        ...BODY_ERRORS,
        'not_forwarded',
      ],
      page: `${page}#memory-across-conversations`,
    },
    'get /v1/stats': {
      id: 'getStats',
      summary: 'How long the summaries of the newest 100 conversations took, or sums by day',
      parameters: [
        query(
          'days',
          'Asks for what was sent and cost on this many days, until today, instead of the times.',
          { type: 'integer', minimum: 1, maximum: 90 },
        ),
      ],
      answers: {
        200: json('Times; with `days`, sums by day.', z.union([schemas.stats, schemas.statsByDay])),
      },
      page: `${page}#all-conversations`,
    },
    'get /v1/stats/comparison': {
      id: 'getComparison',
      summary: 'What a strategy on trial has saved, or would have, with an interval',
      parameters: [PERIOD],
      answers: { 200: json('The comparison.', statsComparison) },
      errors: ['invalid_value'],
      page: 'answers-and-errors.md#on-trial',
    },
    'get /v1/stats/summary': {
      id: 'getSummary',
      summary: 'What the last days have saved, in sentences to forward',
      description: 'As JSON, or by `Accept` as `text/plain` or as a picture (`image/svg+xml`).',
      parameters: [PERIOD],
      answers: {
        200: {
          description: 'The summary.',
          content: {
            'application/json': schemas.periodSummary,
            'text/plain': text,
            'image/svg+xml': text,
          },
        },
      },
      errors: ['invalid_value'],
      page: 'money.md#in-a-sentence',
    },
    'get /v1/stats/summary.svg': {
      id: 'getSummaryPicture',
      summary: 'The same as a picture, whatever `Accept` says',
      parameters: [PERIOD],
      answers: { 200: { description: 'The picture.', content: { 'image/svg+xml': text } } },
      errors: ['invalid_value'],
      page: 'money.md#in-a-sentence',
    },
  },
);

const OF_USERS = routes(
  { group: 'Users', access: 'caller', page: `${page}#seeing-and-correcting-it` },
  {
    'get /v1/users/{user}/memory': {
      id: 'getUserMemory',
      summary: "The summaries that a user's new conversations get, and the passages that models have kept",
      parameters: [USER_IN_PATH],
      answers: { 200: json('The memory.', schemas.userMemory) },
    },
    'delete /v1/users/{user}/memory': {
      id: 'deleteUserMemory',
      summary: "Deletes all of a user's summaries and passages",
      parameters: [USER_IN_PATH],
      answers: deletion(schemas.deletedUser),
      errors: named.errors,
    },
    'delete /v1/users/{user}/memory/{conversation}': {
      id: 'deleteUserMemoryEntry',
      summary: 'Deletes one of them',
      parameters: [
        USER_IN_PATH,
        inPath('conversation', "The conversation's id, as `GET` lists it.", id, 'case-4711'),
      ],
      answers: deletion(schemas.deletedUserEntry),
      errors: named.errors,
    },
  },
);

export const CONVERSATIONS: readonly Operation[] = [...OF_CONVERSATIONS, ...OF_USERS];
