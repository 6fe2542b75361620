/**
 * An OpenAI-compatible server for tests. It refuses what OpenAI would refuse (strict-chat.ts),
 * records every request, and misbehaves on demand: `next()` queues what it does with the coming
 * requests; with an empty queue it answers.
 */

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { type Behaviour, behave, refuse, sendJson } from './behaviours.ts';
import { listening } from './listening.ts';
import { type RecordedRequest, record } from './recorded-request.ts';
import { violations } from './strict-chat.ts';
import { responsesViolations, type StrictResponsesOptions } from './strict-responses.ts';

export interface UpstreamOptions {
  port?: number;
  /** False: bodies are not checked, for tests that forward bodies OpenAI would refuse. */
  strict?: StrictResponsesOptions | false;
  /**
   * What it does with requests of either protocol when the queue is empty. Default: a short answer.
   */
  chat?: Behaviour;
  /** Likewise for the Responses API, if it differs. */
  responses?: Behaviour;
  /** Likewise for embeddings. Default: the same vector for every text. */
  embeddings?: Behaviour;
}

export interface Upstream {
  /** `http://127.0.0.1:PORT/v1` */
  url: string;
  requests: RecordedRequest[];
  /**
   * Queues what it does with the coming requests. GET /models never takes one, since the proxy
   * sends it on its own.
   */
  next(...behaviours: Behaviour[]): void;
  /** Forgets what it was asked and what was queued, and behaves by these options from now on. */
  become(options: Omit<UpstreamOptions, 'port'>): void;
  close(): Promise<void>;
}

export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const requests: RecordedRequest[] = [];
  const queue: Behaviour[] = [];
  let current: Omit<UpstreamOptions, 'port'> = options;

  const server = createServer(async (request, response) => {
    const recorded = await record(request, response);
    if (!recorded) return;
    const { strict = {}, chat = { type: 'answer' }, responses = chat } = current;
    requests.push(recorded);
    response.setHeader('x-request-id', `req_${requests.length}`);
    response.setHeader('x-ratelimit-remaining-requests', '9999');
    const path = new URL(recorded.path, 'http://upstream').pathname;
    const route = `${recorded.method} ${path.replace(/^.*(?=\/chat\/completions$)|^.*(?=\/\w+$)/, '')}`;

    if (recorded.headers.authorization?.startsWith('Bearer sk-invalid')) {
      return refuse(response, 401, 'Incorrect API key provided.', 'invalid_api_key');
    }
    if (route === 'GET /models') return sendJson(response, { object: 'list', data: [model('gpt-4.1-mini')] });
    if (route === 'POST /chat/completions' && strict !== false) {
      const found = violations(recorded.body, strict);
      if (found.length > 0) return refuse(response, 400, found.join('\n'));
    }
    if (route === 'POST /responses' || route === 'POST /input_tokens') {
      const found = strict === false ? [] : responsesViolations(recorded.body, strict);
      if (found.length > 0) return refuse(response, 400, found.join('\n'));
    }
    const standing: Record<string, Behaviour | undefined> = {
      'POST /chat/completions': chat,
      'POST /responses': responses,
      'POST /embeddings': current.embeddings,
    };
    const behaviour = queue.shift() ?? standing[route];
    if (behaviour) return behave(behaviour, request, response, recorded);
    if (route === 'POST /input_tokens')
      return sendJson(response, { object: 'response.input_tokens', input_tokens: inputTokens(recorded) });
    if (route === 'POST /embeddings') return sendJson(response, embeddings(recorded));
    return sendJson(response, {
      method: recorded.method,
      path: recorded.path,
      bytes: recorded.rawBody.length,
      sha256: createHash('sha256').update(recorded.rawBody).digest('hex'),
    });
  });

  const { origin, close } = await listening(server, options.port);
  return {
    url: `${origin}/v1`,
    requests,
    next: (...behaviours) => {
      queue.push(...behaviours);
    },
    become(other) {
      requests.length = 0;
      queue.length = 0;
      current = other;
    },
    close,
  };
}

function embeddings(recorded: RecordedRequest): object {
  const usage = { prompt_tokens: Math.ceil(recorded.rawBody.length / 4), total_tokens: 1 };
  const data = [{ object: 'embedding', index: 0, embedding: [0.25, -0.5, 1] }];
  return { object: 'list', data, model: String(recorded.body?.model), usage };
}

/** The tokens of all that a model would read, as their JSON. */
function inputTokens({ body }: RecordedRequest): number {
  const { input, instructions, tools } = body ?? {};
  return countTokens(JSON.stringify([input, instructions, tools]));
}

function model(id: string): object {
  return { id, object: 'model', created: 1_744_000_000, owned_by: 'openai' };
}
