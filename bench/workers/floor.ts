/**
 * A Worker that does only what no proxy with a memory can do without: it reads the body, copies the
 * headers both ways and sets one of its own, gives the answer up when the upstream is silent before
 * it or within it, and the upstream when the caller leaves. It passes a stream on through one of
 * its own, and anything else as bytes.
 */
import { forwardTo } from './forward-to.ts';

export { ConversationMemory, Metrics, TenantMemory, UserMemory } from './bound-classes.ts';

/** In milliseconds. */
const SILENCE_MS = 60_000;

export default forwardTo(async (url, request) => {
  const headers = new Headers(request.headers);
  const body = await request.bytes();
  const connection = new AbortController();
  const abort = () => connection.abort();
  request.signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(abort, SILENCE_MS);
  const response = await fetch(url, { method: request.method, headers, body, signal: connection.signal });
  clearTimeout(timer);
  const answered = new Headers(response.headers);
  answered.set('x-memory-mode', 'none');
  const { status, body: answer } = response;
  const isStream = answered.get('content-type')?.startsWith('text/event-stream');
  const passed = answer && (isStream ? relayed(answer) : await read(response));
  return new Response(passed, { status, headers: answered });
});

async function read(response: Response): Promise<Uint8Array> {
  const silent = Promise.withResolvers<never>();
  const timer = setTimeout(silent.reject, SILENCE_MS);
  const bytes = await Promise.race([response.bytes(), silent.promise]);
  clearTimeout(timer);
  return bytes;
}

function relayed(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const timer = setTimeout(() => void reader.cancel(), SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
