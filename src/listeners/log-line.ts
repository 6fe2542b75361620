/**
 * A line in the log for each answer (docs/operating.md#logs). It holds closed codes and numbers,
 * never a caller's text, key or ids.
 */
import { isLogged, type LogFields } from '../log.ts';
import type { Report } from '../memory/plan/report.ts';
import { editsOf, frontierState, requestIdIn } from './headers.ts';
import type { Head, ScopeFeature } from './listener.ts';

export const logLine: ScopeFeature = ({ services, timings }) => {
  if (!isLogged('info', services.config.logLevel)) return undefined;
  return {
    begins: (head, report) => {
      const fields = { ...reportFields(report), ...timings.fields(), ...headFields(head) };
      services.log('info', 'a request was answered', fields);
    },
  };
};

function reportFields(report: Report): LogFields {
  const { mode, source, tokens, potential, warnings } = report;
  return {
    mode,
    source,
    edits: editsOf(report),
    frontier: frontierState(report),
    ...(tokens ? { tokens_before: tokens.before, tokens_after: tokens.after } : {}),
    ...(potential?.tokens ? { potential_tokens: potential.tokens.after } : {}),
    ...(warnings.length > 0 ? { warnings: warnings.join(',') } : {}),
  };
}

function headFields({ status, headers }: Head): LogFields {
  const id = requestIdIn(headers);
  return { status, ...(id === null ? {} : { request_id: id }) };
}
