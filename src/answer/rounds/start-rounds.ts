/**
 * What the rounds of one request answer from: the refs that its view names, its conversation's
 * archive, and the memory blocks that the model may write.
 */

import { InvariantError } from '../../lib/invariant-error.ts';
import { logCaught } from '../../log.ts';
import { FETCH_NAMES } from '../../memory/edits/repeats.ts';
import { measureOf, type TokenMeasure } from '../../memory/models/facts.ts';
import { termsOf } from '../../memory/models/terms.ts';
import { budgetsOf, edits, tokenMeasure } from '../../memory/modes/strategy.ts';
import type { Report } from '../../memory/plan/report.ts';
import type { View } from '../../memory/plan/view.ts';
import type { AnswerFormat } from '../../protocol/answers/answer-format.ts';
import type { ToolCall } from '../../protocol/answers/tool-turn.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { type MessageReader, readMessages } from '../../protocol/read-messages.ts';
import { archiveWithArray } from '../../request/archive.ts';
import type { Call } from '../../request/call.ts';
import { ApiError } from '../../request/errors.ts';
import { TenantBlocks } from '../../request/memory-blocks.ts';
import { actingOn } from '../../request/native-compaction.ts';
import { shelfOf } from '../../request/shelf.ts';
import { UserArchive } from '../../request/user-archive.ts';
import type { HeldResult } from '../../retrieval/held-contents.ts';
import { answerInsert, type Inserted } from '../../retrieval/insert-passage.ts';
import { namedIn, Retriever } from '../../retrieval/retriever.ts';
import { type RoundsStart, withoutNote } from '../../retrieval/rounds.ts';
import { answerSearch, type Searched, type SearchScope } from '../../retrieval/search-memory.ts';
import { STORAGE_FAILED } from '../../retrieval/shelf.ts';
import { BlockWriter, type Written } from '../../retrieval/write-blocks.ts';
import type { Tenant } from '../../tenant/identity.ts';
import { type LearnedLimit, roomIn } from '../../upstream/learned-limits.ts';
import type { MadeView } from '../../view/made-view.ts';
import type { OfferedTools } from '../../view/offer-tools.ts';
import { answerList } from './listed-refs.ts';

export async function startRounds(
  sent: Omit<SentRequest, 'request'>,
  tools: OfferedTools,
  made: Pick<MadeView, 'view' | 'history'>,
  call: Call,
  api: MessageReader & { readonly answers: AnswerFormat },
): Promise<RoundsStart> {
  const { request, scope } = call;
  const { services, caller } = scope;
  const { body } = sent;
  const { tenant } = caller;
  if (!tenant) throw new InvariantError('tools were offered without a tenant');
  const { measure, ...accepted } = countingOf(call);
  const { counter } = await scope.caches.counting(measure);
  const limit = services.memory.of('learnedLimits').get(tenant.id, request.model ?? '')?.value;
  const room = await retrievalRoom({ ...sent, request }, accepted, limit);
  const shelf = shelfOf(tenant, services, scope.waitUntil);
  const mayAsk = namedIn(new TextDecoder().decode(body));
  const retriever = new Retriever(shelf, counter, mayAsk, room, heldResults(made.view, api), (media) =>
    api.answers.carries(media),
  );
  let hasFailed = false;
  let opening: Promise<Searched | undefined> | undefined;
  const ofUser = userArchive(tools, tenant, call);
  const archive = async (reach: SearchScope): Promise<Searched | undefined> => {
    opening ??= archiveWithArray(call);
    const own = await opening;
    return reach === 'user' && ofUser ? ofUser : own;
  };
  const writer = blockWriter(tools, tenant, call, () => {
    hasFailed = true;
  });
  const failed = (error: unknown): void => {
    hasFailed = true;
    logCaught(services.log, 'warn', 'an archive could not be searched for a model', error);
  };
  const notKept = (error: unknown): void => {
    hasFailed = true;
    logCaught(services.log, 'warn', 'a passage could not be kept for a model', error);
  };
  const list = async (args: string): Promise<string> => {
    const listed = await answerList(args, made, call, tenant, counter);
    hasFailed ||= listed === STORAGE_FAILED;
    return retriever.give(listed);
  };
  const given = ({ text, brief }: Written): string => retriever.give(text, brief);
  return {
    body,
    answerer: {
      given: retriever.given,
      get written() {
        return [...writer.written.values()].map(({ label, version }) => ({ label, version }));
      },
      get isSettled() {
        return retriever.isSettled && !hasFailed;
      },
      announce: (turn) => retriever.announce(turn),
      answer: async ({ name, arguments: args }: ToolCall) => {
        if (name === tools.blocks?.append) return given(await writer.append(args));
        if (name === tools.blocks?.replace) return given(await writer.replace(args));
        if (name === tools.search) return retriever.give(await answerSearch(args, archive, counter, failed));
        if (name === tools.insert && ofUser)
          return retriever.give(await answerInsert(args, insertInto(ofUser, tenant, call), notKept));
        if (name === tools.list) return list(args);
        return retriever.answer(args);
      },
    },
  };
}

/** The archives of the request's user, if its tools reach them. */
function userArchive({ reachesUser }: OfferedTools, tenant: Tenant, call: Call): UserArchive | undefined {
  const { user } = call.owner;
  return reachesUser && user !== undefined ? new UserArchive(user, tenant, call.scope.services) : undefined;
}

/** Keeps passages, once the upstream has accepted the key. */
function insertInto(archive: UserArchive, tenant: Tenant, { scope }: Call) {
  return async (passage: string): Promise<Inserted> => {
    if (await scope.mayStore(tenant)) return archive.insert(passage);
    throw new ApiError('invalid_api_key', 'It is not known whether the key is accepted.');
  };
}

/** Writes the memory blocks that a request's tools may write. */
function blockWriter(
  { blocks }: OfferedTools,
  tenant: Tenant,
  { scope }: Call,
  hasFailed: () => void,
): BlockWriter {
  const { services } = scope;
  const stored = new TenantBlocks(tenant, services);
  return new BlockWriter(blocks?.labels ?? [], {
    change: async (label, edit) => {
      if (await scope.mayStore(tenant)) return stored.change(label, edit);
      throw new ApiError('invalid_api_key', 'It is not known whether the key is accepted.');
    },
    failed: (error) => {
      hasFailed();
      logCaught(services.log, 'warn', 'a memory block could not be written for a model', error);
    },
  });
}

/** How the tokens of a request are counted, and how many its model accepts. */
function countingOf(call: Call): ModelRoom & { readonly measure: TokenMeasure } {
  const { model } = call.request;
  const { config } = call.scope.services;
  const strategy = actingOn(call);
  const terms = termsOf(model, config);
  const { input } = terms;
  if (!edits(strategy))
    return { measure: measureOf(model, undefined, config.tokenFactors), window: terms.window, input };
  return {
    measure: tokenMeasure(strategy, model, config.tokenFactors),
    window: budgetsOf(strategy, terms).window,
    input,
  };
}

/** The results of calls that fetch, oldest first. */
function heldResults(view: Pick<View, 'rounds'> | undefined, api: MessageReader): HeldResult[] {
  const held: HeldResult[] = [];
  for (const { json } of view?.rounds?.values() ?? []) {
    const asked = new Map<string, string>();
    for (const message of readMessages(api, json)) {
      for (const { id, name, input } of message.calls)
        if (FETCH_NAMES.some((fetches) => fetches === name)) asked.set(id, input);
      const args = asked.get(message.answers ?? '');
      const { text, type } = message.content();
      // One with images is no text of the content.
      if (args !== undefined && type !== 'application/json') held.push({ args, result: withoutNote(text) });
    }
  }
  return held;
}

/**
 * Tokens reserved for an answer that the caller has not limited, and their largest share of the
 * window.
 */
const ANSWER_TOKENS = 4_000;
const ANSWER_SHARE = 0.25;
/** Share of the rest that is used, since the upstream's tokenizer may count more than Precis's. */
const TAKEN = 0.9;

export interface SentRequest {
  readonly request: Pick<ModelRequest, 'answerTokens'>;
  readonly body: Uint8Array;
  readonly report: Report;
  /** Tokens sent outside of the view. */
  readonly addedTokens: number;
  /** Counts the view, if its byte count was small enough not to need it before. */
  count(): Promise<Report>;
}

/** What a model accepts, in tokens. */
export interface ModelRoom {
  readonly window: number;
  /** The most input, where that is less than the window. */
  readonly input?: number | undefined;
}

/**
 * How many tokens retrieval may add, so that the request still fits the model's window: all rounds
 * share nine tenths of what view and answer leave in it, or in a learned limit. 0 or less if there
 * is no room.
 *
 * @param limit what the upstream is known to accept
 */
export async function retrievalRoom(
  sent: SentRequest,
  { window, input = window }: ModelRoom,
  limit: LearnedLimit | undefined,
): Promise<number> {
  const { answerTokens } = sent.request;
  const answer = answerTokens || Math.min(ANSWER_TOKENS, window * ANSWER_SHARE);
  const most = Math.min(window - answer, input, limit ? roomIn(limit, answerTokens) : window);
  return Math.floor((most - (await tokensOf(sent, most))) * TAKEN);
}

/** A token count is at most the number of bytes, so a short body is not counted. */
async function tokensOf({ body, report, addedTokens, count }: SentRequest, most: number): Promise<number> {
  if (!report.tokens && body.length <= most / 2) return body.length;
  const { tokens } = report.tokens ? report : await count();
  return tokens ? tokens.after + addedTokens : body.length;
}
