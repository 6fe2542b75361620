/**
 * Traces the requests to a model where the deployment has a collector
 * (docs/operating.md#traces).
 */
import type { Services } from '../request/services.ts';
import { RequestTrace } from '../telemetry/request-trace.ts';
import type { ScopeFeature } from './listener.ts';

/** The trace of a request; undefined without a collector. @param route its canonical path */
export function startTrace(
  { method, headers }: Request,
  route: string,
  { exporter, config }: Pick<Services, 'exporter' | 'config'>,
): RequestTrace | undefined {
  if (!exporter || !config.otlp) return undefined;
  return new RequestTrace(headers, { exporter, share: config.otlp.share, method, route });
}

export const trace: ScopeFeature = (scope, protocol) => {
  const { trace: own, services, waitUntil } = scope;
  if (!own) return undefined;
  return {
    begins: (_, report) => own.reports({ report, protocol }),
    ended: ({ how, head, refusal }) => {
      own.end(head?.status ?? 500, how, refusal);
      services.exporter?.sendLater(waitUntil);
    },
  };
};
