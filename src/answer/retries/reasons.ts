/** The reasons to ask again, in the order in which they are tried. */
import { passesThrough } from '../../memory/modes/strategy.ts';
import type { Call } from '../../request/call.ts';
import type { MadeView, MakeViewOptions } from '../../view/made-view.ts';
import type { Attempts } from '../attempt.ts';
import { mayBridge } from '../bridge/route.ts';
import { withoutThinking } from './bound-thinking.ts';
import {
  overChat,
  overResponses,
  withinAnswer,
  withoutIds,
  withoutOutputs,
  withoutStrict,
} from './bridge.ts';
import { withoutReasoning } from './encrypted-reasoning.ts';
import { withinBytes, withoutSignature, withWholeOutputs } from './other-views.ts';
import { withoutField } from './own-fields.ts';
import type { BodyOf, Retry } from './retry.ts';
import { withinLimit } from './too-long.ts';

export function retriesOf(
  call: Call,
  { report }: MadeView,
  options: MakeViewOptions,
  attempts: Attempts,
): readonly Retry[] {
  const { request, scope } = call;
  const bodyOf: BodyOf = (attempt) => attempts.bodyOf(attempt);
  const bridged = () => attempts.bridged;
  return [
    ...(attempts.isBridged || mayBridge(call)
      ? [
          overResponses(call),
          overChat(call, bridged),
          withinAnswer(call, bridged),
          withoutStrict(call, bridged),
          withoutIds(call),
          withoutOutputs(call, bridged),
        ]
      : []),
    withoutReasoning(request, scope),
    // What is sent unchanged is not shortened.
    ...(passesThrough(report)
      ? []
      : [
          withoutSignature(call, options),
          withoutThinking(call),
          withWholeOutputs(call, options),
          withinLimit(call, options),
          withinBytes(call, options),
        ]),
    ...(attempts.asksDiagnostics ? [withoutField('diagnostics', call, bodyOf)] : []),
    withoutField('marks', call, bodyOf),
    ...(attempts.sendsKey ? [withoutField('key', call, bodyOf)] : []),
    ...(attempts.asksUsage ? [withoutField('usage', call, bodyOf)] : []),
  ];
}
