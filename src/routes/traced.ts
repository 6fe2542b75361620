/**
 * Traces the requests to a model where the deployment has a collector
 * (docs/deploying.md#traces).
 */
import type { Context, Handler } from 'hono';
import { isEventStream } from '../answer/unread-body.ts';
import { ApiError, internalError } from '../request/errors.ts';
import type { AppEnv } from '../request/services.ts';
import { RequestTrace } from '../telemetry/request-trace.ts';

type ModelHandler = (c: Context<AppEnv>) => Response | Promise<Response>;

/** A handler whose requests are traced until their answers have ended. */
export function traced(handler: ModelHandler): Handler<AppEnv> {
  return (c) => {
    const { exporter, config } = c.get('services');
    return exporter && config.otlp ? trace(c, handler, exporter, config.otlp.share) : handler(c);
  };
}

async function trace(
  c: Context<AppEnv>,
  handler: ModelHandler,
  exporter: ConstructorParameters<typeof RequestTrace>[1]['exporter'],
  share: number,
): Promise<Response> {
  const { method, headers } = c.req.raw;
  const own = new RequestTrace(headers, { exporter, share, method, route: c.req.path });
  c.set('trace', own);
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  // Asked for now, because after the caller leaves it would be too late.
  waitUntil(own.done.then(() => exporter.sendLater(waitUntil)));
  try {
    const response = await handler(c);
    if (response.body && isEventStream(response)) return watched(response, response.body, own);
    own.endWithCalls(response.status);
    return response;
  } catch (error) {
    const known = error instanceof ApiError ? error : internalError();
    own.end(known.toResponse().status, 'complete', known.code);
    throw error;
  }
}

/** A stream that ends the trace when it ends, however it ends. */
function watched(response: Response, body: ReadableStream<Uint8Array>, own: RequestTrace): Response {
  const reader = body.getReader();
  const { status, statusText, headers } = response;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          own.end(status, 'complete');
          controller.close();
        } catch (error) {
          own.end(status, 'error');
          controller.error(error);
        }
      },
      cancel(reason) {
        own.end(status, 'caller_left');
        return reader.cancel(reason);
      },
    },
    // Never ahead of the caller, as the stream itself.
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, statusText, headers });
}
