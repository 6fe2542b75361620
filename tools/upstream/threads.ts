/**
 * Message threads as Anthropic's API has them
 * (https://platform.claude.com/docs/en/build-with-claude/message-threads, read 2026-11).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Json, listed } from './json.ts';

/** With each request of a thread. */
export const THREADS_BETA = 'message-threads-2026-08-12';

/** Fields that a thread keeps from its first request. */
const KEPT = ['system', 'tools'] as const;

/** What the API answers to a thread that it can't continue. */
export interface ThreadRefusal {
  readonly status: number;
  readonly code?: string;
  readonly message: string;
}

/** The threads of one account. */
export class Threads {
  /** By the id of their last answer. */
  private readonly known = new Map<string, Json>();

  /** The whole body of a request, which may be a part of a thread. */
  whole(body: Json, headers: IncomingHttpHeaders): Json | ThreadRefusal {
    const { thread, ...rest } = body;
    if (thread === undefined || thread === null) return rest;
    const { type, previous_message_id: id } = thread as Json;
    if (!String(headers['anthropic-beta'] ?? '').includes(THREADS_BETA))
      return { status: 400, message: 'thread: Extra inputs are not permitted' };
    if (type === 'create') return rest;
    if (type !== 'continue') return { status: 400, message: 'thread.type: must be create or continue' };
    const repeated = KEPT.find((field) => rest[field] !== undefined);
    if (repeated) return { status: 400, message: `${repeated}: must be left out of a continued thread` };
    const before = this.known.get(String(id));
    if (!before) return { status: 404, code: 'thread_not_found', message: `No thread ends with ${id}` };
    const kept = Object.fromEntries(KEPT.map((field) => [field, before[field]]));
    return { ...rest, ...kept, messages: [...listed(before.messages), ...listed(rest.messages)] };
  }

  /** Stores an answer with all that led to it. @param whole the body */
  keep(asked: Json, whole: Json, { id, role, content }: Json): void {
    if (asked.thread === undefined || asked.thread === null) return;
    const messages = [...listed(whole.messages), { role, content }];
    this.known.set(String(id), { ...whole, messages });
  }
}
