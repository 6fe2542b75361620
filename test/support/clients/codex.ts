/**
 * A client that reads a response as Codex does (codex-rs/codex-api/src/sse/responses.rs and
 * api_bridge.rs in openai/codex): what it does about an error follows from `response.failed` alone,
 * and comments are no sign of life.
 */
import { createParser } from 'eventsource-parser';

/** The headers by which Codex names itself. */
export const CODEX_HEADERS = {
  originator: 'codex_cli_rs',
  'user-agent': 'codex_cli_rs/0.159.0 (Debian 13.0.0; x86_64) xterm-256color',
  accept: 'text/event-stream',
};

/** What Codex does after an answer. */
export type CodexTurn =
  | { readonly does: 'goes_on' | 'compacts' | 'gives_up_quota' | 'overloaded' }
  /** Shows the words, and does not ask again. */
  | { readonly does: 'shows'; readonly text: string }
  /** Asks again, after the seconds that the error says, if any. */
  | { readonly does: 'retries'; readonly text: string; readonly seconds: number | undefined }
  /** An error of HTTP, with its body unchanged. */
  | { readonly does: 'shows_status'; readonly status: number; readonly body: string };

interface ReadResponse {
  readonly turn: CodexTurn;
  /** The types of all events, in order. */
  readonly events: readonly string[];
}

interface Failure {
  readonly code?: string;
  readonly message?: string;
}

export async function readAsCodex(response: Response): Promise<ReadResponse> {
  if (!response.ok) {
    const turn = { does: 'shows_status', status: response.status, body: await response.text() } as const;
    return { turn, events: [] };
  }
  const events: string[] = [];
  let turn: CodexTurn = {
    does: 'retries',
    text: 'stream closed before response.completed',
    seconds: undefined,
  };
  const parser = createParser({
    onEvent: ({ data }) => {
      const event = JSON.parse(data) as { type: string; response?: { error?: Failure } };
      events.push(event.type);
      if (event.type === 'response.completed') turn = { does: 'goes_on' };
      if (event.type === 'response.failed') turn = afterFailure(event.response?.error ?? {});
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body as ReadableStream<Uint8Array>)
    parser.feed(decoder.decode(bytes, { stream: true }));
  return { turn, events };
}

function afterFailure({ code, message: text = '' }: Failure): CodexTurn {
  if (code === 'context_length_exceeded') return { does: 'compacts' };
  if (code === 'insufficient_quota') return { does: 'gives_up_quota' };
  if (code === 'invalid_prompt') return { does: 'shows', text };
  if (code === 'server_is_overloaded') return { does: 'overloaded' };
  const [, value, unit] = /try again in\s*(\d+(?:\.\d+)?)\s*(s|ms|seconds?)/i.exec(text) ?? [];
  const isDelay = code === 'rate_limit_exceeded' && value !== undefined;
  const seconds = isDelay ? Number(value) / (unit === 'ms' ? 1000 : 1) : undefined;
  return { does: 'retries', text, seconds };
}
