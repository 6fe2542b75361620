/**
 * The memory of a request's whole session, for the user's other conversations: made after each
 * answered round, or when the caller ends the conversation.
 */
import { pause } from '../lib/time-limit.ts';
import { logCaught } from '../log.ts';
import { wholeSummary } from '../memory/modes/strategy.ts';
import type { SummarizeStrategy } from '../memory/modes/summarize.ts';
import { outlineOf } from '../memory/plan/plan.ts';
import type { ReportedSummary, Warning } from '../memory/plan/report.ts';
import { answerIdentity } from '../protocol/message-names.ts';
import type { Call } from '../request/call.ts';
import { finalMemory, rememberSession, type SessionNeed } from '../summary/session-memory.ts';
import { TIME_LIMITS } from '../time-limits.ts';
import type { MadeView } from './made-view.ts';
import { type RequestSummaries, summariesOf } from './summaries.ts';

/** The view, which also remembers its session after the answer if the caller wants that. */
export async function withSession(made: MadeView, call: Call): Promise<MadeView> {
  const { injection } = await call.chosen.injection;
  if (injection?.publish !== 'each_round' || obstacleTo(call)) return made;
  const remember = async (answer: string | undefined) => {
    const [order] = await Promise.all([made.remember?.(answer), rememberRound(answer, call)]);
    return order;
  };
  return { ...made, remember };
}

/** Never throws. @param text of the answer that has closed the round */
async function rememberRound(text: string | undefined, call: Call): Promise<void> {
  const { caller, services, mayStore } = call.scope;
  // Send the answer's last bytes first, since the rest takes time.
  await pause(0);
  if (text === undefined || !caller.tenant || !(await mayStore(caller.tenant))) return;
  try {
    const { need, ports } = sessionOf(call);
    const answer = { text, identity: answerIdentity(text) };
    await rememberSession({ ...need, answer }, ports);
  } catch (error) {
    logCaught(services.log, 'warn', 'a session could not be remembered', error);
  }
}

/** What the caller learns about the end of its conversation. */
interface EndedSession {
  readonly summary: ReportedSummary | null;
  /** Whether the user's other conversations are given it. */
  readonly published: boolean;
  /** Whether the summary is still being made. */
  readonly isPending: boolean;
  readonly warnings: readonly Warning[];
}

/** @throws if storage fails */
export async function endSession(call: Call): Promise<EndedSession> {
  const settings = await call.chosen.injection;
  const obstacle = obstacleTo(call);
  const nothing = { summary: null, published: false, isPending: false };
  if (obstacle && obstacle !== 'no_user') return { ...nothing, warnings: [...settings.warnings, obstacle] };
  const warnings: Warning[] = [...settings.warnings, ...(obstacle ? [obstacle] : [])];
  const { need, ports } = sessionOf(call);
  const { conversation } = ports;
  if (!conversation) return { ...nothing, warnings: [...warnings, 'no_conversation'] };
  const ended = await finalMemory(need, ports, conversation, TIME_LIMITS.wholeSummaryMs);
  const { memory, status, usage } = ended;
  if (!memory) {
    const isPending = status === 'pending';
    const warning = isPending ? 'summary_pending' : 'summary_degraded';
    return { ...nothing, isPending, warnings: [...warnings, warning] };
  }
  const { history } = need;
  const first = history.messages.findIndex(({ role }) => role !== 'preamble');
  const summary: ReportedSummary = {
    text: memory.memory_text ?? '',
    covers: [first, memory.covers_end - 1],
    prefix_hash: memory.prefix_hash,
    status,
    memory_id: memory.memory_id,
    base_memory_id: memory.base_memory_id,
    usage,
  };
  return { summary, published: !obstacle, isPending: false, warnings };
}

/** Why a session can't be remembered or published. */
function obstacleTo({ request, owner, scope }: Call): Warning | undefined {
  if (request.tooManyMessages) return 'too_many_messages';
  if (request.upstreamState !== undefined) return 'upstream_state';
  if (!scope.caller.tenant) return 'no_tenant';
  if (owner.off[0]) return owner.off[0];
  if (owner.conversation === undefined) return 'no_conversation';
  return owner.user === undefined ? 'no_user' : undefined;
}

function sessionOf(call: Call): { need: SessionNeed; ports: RequestSummaries['ports'] } {
  const { request, chosen, scope } = call;
  const strategy: SummarizeStrategy = wholeSummary(chosen.strategy);
  const { history } = outlineOf(strategy, request, scope.caller.tenant?.refs, { whole: true });
  const options = { force: true, dryRun: false, count: false, viewOnly: true, whole: true };
  const viewCall = { ...call, history, options, tools: undefined, own: undefined };
  const { boundaries, ports } = summariesOf(strategy, viewCall);
  const at = Date.now();
  const place = ports.conversation?.publishTo;
  const publication = async () => place && { ...place, at };
  return { need: { strategy, history, boundaries }, ports: { ...ports, publication } };
}
