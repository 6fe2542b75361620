/** Asks the Worker. A secret is in this object alone, and goes to the page's own origin alone. */

/** An error that the Worker answered, or a connection that failed. */
export class Failure extends Error {
  override readonly name = 'Failure';
  /** 0 if nothing was answered. */
  readonly status: number;
  readonly code: string;
  /** Of the answer. */
  readonly requestId: string | undefined;

  constructor(status: number, code: string, message: string, requestId?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** What was thrown, as a failure. One of the page's own has the code `page_failed`. */
export function failureOf(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure(0, 'page_failed', `${error}`);
}

/** Gives another value for what is not there. @throws whatever is no 404 */
export function missing<Value>(instead: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof Failure && error.status === 404) return instead;
    throw error;
  };
}

type Headed = Readonly<Record<string, string>>;

/** The headers by which a request says who asks. A sign-in may have to be renewed first. */
export type Credentials = (signal?: AbortSignal) => Headed | Promise<Headed>;

/** A body is sent as JSON. */
export interface Asking extends Omit<RequestInit, 'signal' | 'body'> {
  readonly signal?: AbortSignal | undefined;
  readonly body?: object;
}

export class Connection {
  private readonly credentials: Credentials;

  constructor(credentials: Credentials) {
    this.credentials = credentials;
  }

  async json<Answer>(path: string, init: Asking): Promise<Answer> {
    const response = await this.response(path, init);
    return (await response.json()) as Answer;
  }

  /** @throws Failure for any status that is no success */
  async response(path: string, init: Asking): Promise<Response> {
    const response = await this.asked(path, init);
    if (!response.ok) throw await answeredFailure(response);
    return response;
  }

  /** @throws Failure if there is no answer */
  async asked(path: string, { headers, signal, body, ...init }: Asking): Promise<Response> {
    const sent = new Headers(headers);
    for (const [name, value] of Object.entries(await this.credentials(signal))) sent.set(name, value);
    const options: RequestInit = { credentials: 'omit', ...init, headers: sent, redirect: 'error' };
    if (signal) options.signal = signal;
    if (body) {
      sent.set('content-type', 'application/json');
      options.body = JSON.stringify(body);
    }
    return fetch(path, options).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Failure(0, 'unreachable', 'The Worker could not be reached.');
    });
  }
}

export function bearer(secret: string): Headed {
  return { authorization: `Bearer ${secret}` };
}

/** How a key is sent: one of Anthropic's is asked about there, and at no other upstream. */
export function credentialsOf(key: string): Headed {
  return key.startsWith('sk-ant-') ? { 'x-api-key': key } : bearer(key);
}

async function answeredFailure(response: Response): Promise<Failure> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  const { error } = Object(body) as { error?: { code?: unknown; message?: unknown } };
  const message = typeof error?.message === 'string' ? error.message : `The answer has status ${status}.`;
  const code = typeof error?.code === 'string' ? error.code : 'unknown';
  return new Failure(status, code, message, response.headers.get('x-request-id') ?? undefined);
}
