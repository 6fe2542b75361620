/**
 * Sends the bodies of one call over another API than chat completions. All around it sees chat:
 * its bodies, and their answers.
 */
import { baseUrlOf } from '../../config.ts';
import { asObjects, parseObject } from '../../lib/json.ts';
import { Latest } from '../../lib/latest.ts';
import { once } from '../../lib/once.ts';
import { urlOf } from '../../lib/request-url.ts';
import { secondsOf } from '../../lib/utc-time.ts';
import { noteVerdict } from '../../listeners/verdict.ts';
import { undatedName } from '../../memory/models/families.ts';
import { bindsThinking, reasoningTermsOf } from '../../memory/models/past-reasoning.ts';
import { isCleared } from '../../memory/plan/edits-before.ts';
import type { BridgedApi, BridgeRefusal, ChatBody } from '../../protocol/bridges/bridge.ts';
import { BRIDGES } from '../../protocol/bridges/bridges.ts';
import { unsupported } from '../../protocol/bridges/chat-fields.ts';
import { outputsIn } from '../../protocol/bridges/kept-outputs.ts';
import { type ShownAnswers, shownAnswers } from '../../protocol/chat/shown-answers.ts';
import type { MessageReader } from '../../protocol/read-messages.ts';
import type { Call } from '../../request/call.ts';
import { callerOf } from '../../request/callers/caller.ts';
import { longestAnswerAt } from '../../request/model-refusals.ts';
import type { RequestScope } from '../../request/scope.ts';
import { sha256Hex } from '../../tenant/identity.ts';
import { ANTHROPIC, bearerToken, isAnthropic, isAnthropicKey } from '../../upstream/api.ts';
import { otherKeys } from '../../upstream/credentials.ts';
import type { UpstreamAnswer } from '../../upstream/fetch.ts';
import { forwardedSearch } from '../../upstream/request.ts';
import { bridgedBodies } from '../../view/made-before.ts';
import type { MadeView } from '../../view/made-view.ts';
import { type AskOptions, askUpstream, type CountedAnswer, knownHeadersFor } from '../ask-upstream.ts';
import type { BodyPart } from '../retries/retry.ts';
import { chatAnswer } from './chat-answer.ts';
import { AnswerKeeper } from './keep-answer.ts';
import { outputsOfText } from './keep-row.ts';
import { KeptAnswers, type SentOutputs } from './kept-answers.ts';
import { isOnlyWay, type ReportedApi, type Route } from './route.ts';

/** What a body is sent with. */
interface Sending {
  readonly made: Pick<MadeView, 'history' | 'movedAt' | 'tools' | 'view'>;
  readonly thinkingFrom: number;
  /** What the upstream has refused, such as outputs of earlier answers. */
  readonly without: ReadonlySet<BodyPart>;
  /** Whether usage is asked for, but not by the caller. */
  readonly hidesUsage: boolean;
  /** How the upstream is asked for it. */
  readonly options: AskOptions;
}

export class BridgedCall {
  private readonly call: Call;
  private readonly route: Route;
  private readonly kept: KeptAnswers | undefined;
  private readonly keeper: AnswerKeeper | undefined;
  /** Of the body that was sent last. */
  private sent: ReportedApi;
  /** Whether the body that was sent last is without outputs of answers that its view has. */
  lacksOutputs = false;
  /** How many messages of the model it has, beside what a view says in place of others. */
  private shown = 0;
  /** The messages of it before this one are without the reasoning that is kept of them. */
  keptFrom = 0;

  /** @param kept absent where nothing is kept of the call */
  constructor(call: Call, route: Route, reader: MessageReader, kept: KeptAnswers | undefined) {
    this.call = call;
    this.route = route;
    this.sent = { api: route.api, because: route.because };
    this.kept = kept;
    this.keeper = kept && new AnswerKeeper(kept, reader, route.api);
  }

  get api() {
    return this.route.api;
  }

  /** What the report says of the body that was sent last. */
  get reported(): ReportedApi {
    return this.sent;
  }

  /**
   * Sends a chat body over the other API, or as it is, if that API lacks what it asks for.
   *
   * @param path of chat completions
   * @throws ApiError
   */
  async ask(path: string, bytes: Uint8Array, sending: Sending): Promise<CountedAnswer> {
    const { api, because } = this.route;
    const { request, scope, chosen } = this.call;
    const read = once(() => chatIn(bytes));
    const { obstacle, streams } = heads.of(bytes, [api], () => headOf(read().chat, api));
    const param = keyIsFor(api, scope) ? obstacle : 'authorization';
    if (param !== undefined && isOnlyWay(api, this.call)) return refused(unsupported(param));
    if (param !== undefined) {
      this.sent = { api: 'chat', because: 'obstacle', param };
      return askUpstream(scope, path, bytes, sending.options);
    }
    const isBare = sending.without.has('outputs');
    const { answers, shown } = await this.outputs(sending, isBare);
    const rounds = isBare ? [] : (this.keeper?.rounds ?? []);
    const options = {
      leavesOutReasoning: isBare,
      leavesOutIds: sending.without.has('ids'),
      leavesOutStrict: sending.without.has('strict'),
      longestAnswer: longestAnswerAt(request, scope),
      // Few chat clients can set marks, so Precis adds them in every mode, also in `none`.
      marksCache: (chosen.strategy.cache_marks ?? 'auto') === 'auto',
      hidesUsage: sending.hidesUsage,
    };
    const inputs = [
      api,
      ...Object.values(options),
      ...answers.flatMap(({ message, text }) => [message, text]),
    ];
    const { written, kept, replaced } = bridgedBodies.of(bytes, inputs, () => {
      const { chat, showsReasoning } = read();
      const stored = answers.map(({ text, ...range }) => ({ ...range, outputs: outputsOfText(text) }));
      const outputs = outputsIn(chat.messages, stored, shown, rounds, sha256Hex);
      const given = { ...options, ...FROM_HERE, showsReasoning };
      return {
        written: BRIDGES[api].body(chat, (index) => outputs.get(index), given),
        kept: [...outputs.values()].filter(({ json }) => json !== '[]').length,
        replaced: outputs.size,
      };
    });
    if ('message' in written) return refused(written);
    const { notices } = written;
    const plain = this.shown - replaced;
    this.sent = {
      ...{ api, because },
      ...(kept > 0 ? { kept_answers: kept } : {}),
      ...(plain > 0 ? { plain_answers: plain } : {}),
      ...(notices.length > 0 ? { notices: [...notices] } : {}),
    };
    const { listed, body } = written;
    const headers = [...(sending.options.headers ?? []), ...written.headers];
    const asked = { ...sending.options, headers, listed };
    const over = scopeOver(api, scope);
    const answer = await askUpstream(over, `/${api}`, body, asked);
    return chatAnswer(answer, {
      reader: written.reader,
      streams,
      scope: over,
      keep: async (complete) => {
        // Otherwise it is learned once the caller has the answer, which waits until it is kept.
        noteVerdict(answer.response, over);
        await this.keeper?.keep(complete, sending.made);
      },
    });
  }

  /** The outputs of earlier answers are not sent again. */
  async forget(): Promise<void> {
    await this.kept?.forget();
  }

  /** What is kept of the answers in a view; nothing if it is sent without. */
  private async outputs(
    { made, thinkingFrom }: Sending,
    isBare: boolean,
  ): Promise<Pick<SentOutputs, 'answers'> & { readonly shown: ShownAnswers }> {
    const { request } = this.call;
    const shown = shownAnswers(request, made.view, thinkingFrom);
    const rounds = this.keeper?.rounds ?? [];
    this.shown = shown.messages.reduce((sum, at) => sum + 1 + shown.roundsBefore(at), rounds.length);
    const isBound = bindsThinking(reasoningTermsOf(request.model));
    const from = isBound ? Math.max(made.movedAt ?? 0, thinkingFrom) : 0;
    const inView = new Set(shown.messages.filter((message) => !isCleared(made.view, message)));
    const isShown = (message: number): boolean => message >= from && inView.has(message);
    const { roundsBefore } = shown;
    const found = await this.kept?.outputs(this.route.api, made.history, isShown, roundsBefore, isBound);
    this.lacksOutputs = found !== undefined && (found.lacks || (isBare && found.answers.length > 0));
    this.keptFrom = isBare && isBound ? request.messages.length : (found?.from ?? 0);
    return { answers: isBare ? [] : (found?.answers ?? []), shown };
  }
}

/**
 * What is kept of the answers of a call; undefined where nothing can be.
 *
 * @param isDry whether nothing is sent or stored
 */
export function keptAnswersOf(call: Call, isDry = false): KeptAnswers | undefined {
  const { request, scope } = call;
  const { tenant } = scope.caller;
  if (!tenant || request.protocol !== 'chat') return undefined;
  const owners = new Map<BridgedApi, string>();
  const ownerOf = (api: BridgedApi): string => {
    const owner = owners.get(api) ?? ownerIn(scopeOver(api, scope), request);
    owners.set(api, owner);
    return owner;
  };
  return new KeptAnswers({ call, tenant, isDry, ownerOf });
}

/** Not made for a call: a reader that is kept would keep all of the call. */
const FROM_HERE = { now: () => secondsOf(Date.now()), sha256: sha256Hex } as const;

const decoder = new TextDecoder();

/** A body that was written here, without the member that is Precis's. */
function chatIn(bytes: Uint8Array): { readonly chat: ChatBody; readonly showsReasoning: boolean } {
  const { include_reasoning, ...chat } = parseObject(decoder.decode(bytes)) ?? {};
  return {
    chat: { ...chat, messages: asObjects(chat.messages) },
    showsReasoning: include_reasoning === true,
  };
}

/** What decides how a chat body is asked for. */
interface ChatHead {
  readonly streams: boolean;
  /** See `Bridge`. */
  readonly obstacle: string | undefined;
}

const heads = new Latest<Uint8Array, ChatHead>();

function headOf(chat: ChatBody, api: BridgedApi): ChatHead {
  return { streams: chat.stream === true, obstacle: BRIDGES[api].obstacle(chat) };
}

/** The answer to a body that the other API has no form for. */
function refused({ message, param, code }: BridgeRefusal): UpstreamAnswer {
  const error = { message, type: 'invalid_request_error', param, code };
  return { response: Response.json({ error }, { status: 400 }), abort: () => undefined };
}

/**
 * Whether a caller's own key may be sent to the server of an API: no server of Anthropic's gets a
 * key of another vendor. With access keys, the deployer has a key for each.
 */
function keyIsFor(api: Route['api'], { headers, services: { config } }: RequestScope): boolean {
  if (api !== 'messages' || config.access || !isAnthropic(config.anthropicBaseUrl)) return true;
  return isAnthropicKey(bearerToken(headers));
}

/** The headers of a request for chat that Anthropic's own server gets, beside its own. */
const FOR_ANTHROPIC = /^(?:accept|authorization|content-type|user-agent|x-stainless-.*|anthropic-.*)$/;

/** Of a request over Messages: its rounds, and what is kept of it, need the same. */
const scopes = new Latest<RequestScope, RequestScope>();

/** The context of a request with the key that its caller gave for chat, as an API takes it. */
function scopeOver(api: Route['api'], scope: RequestScope): RequestScope {
  return api === 'messages' ? scopes.of(scope, [], () => scopeOfMessages(scope)) : scope;
}

function scopeOfMessages(scope: RequestScope): RequestScope {
  const { incoming, services, caller } = scope;
  const { url, method, signal } = incoming;
  const isOwn = isAnthropic(services.config.anthropicBaseUrl);
  const isSent = (name: string) => (isOwn ? FOR_ANTHROPIC.test(name) : !name.startsWith('openai-'));
  const headers = new Headers([...incoming.headers].filter(([name]) => isSent(name)));
  const key = bearerToken(headers);
  if (key !== undefined) ANTHROPIC.setKey(headers, key);
  const asked = new Request(isOwn ? url.replace(/\?.*$/, '') : url, { method, headers, signal });
  // With access keys, the caller's is found as the headers had it.
  const { account } = callerOf(services.config.access ? incoming.headers : headers, services, ANTHROPIC);
  // The caller's own account may be closed, which its getter throws.
  const { tenant, limits } = caller;
  return { ...scope, api: ANTHROPIC, incoming: asked, caller: { tenant, limits, account } };
}

/** Headers that choose an account, beside the key. */
const GROUP = /^(?:openai|anthropic)-(?:account|organization|project|user|workspace)/;

/**
 * What encrypted reasoning belongs to: a server, the account there whose key is sent, a family of
 * models, and where it is bound to what precedes it, the tools.
 *
 * @param over as the API takes the request
 * @throws ApiError if the deployer has no key for the API
 */
function ownerIn(over: RequestScope, { model = '', tools }: Call['request']): string {
  const { api, caller, incoming, services } = over;
  const headers = knownHeadersFor(over);
  const names = [...headers.keys()].filter((name) => GROUP.test(name));
  const chosen = [...names, ...otherKeys(headers, api)].map((name) => [name, headers.get(name)]);
  const search = forwardedSearch(urlOf(incoming).search, caller.account);
  const server = baseUrlOf(api, services.config);
  const bound = bindsThinking(reasoningTermsOf(model)) && tools ? [tools.digest] : [];
  const owner = [undatedName(model), server, search, api.keyIn(headers), ...chosen, ...bound];
  return sha256Hex(JSON.stringify(owner));
}
