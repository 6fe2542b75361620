/**
 * Joins several JSON answers of a model into the one that the caller sees, by the rules of
 * `joined-streams.ts`.
 */

import { asList, asObject, isObject, type JsonObject, parseJson } from '../../lib/json.ts';
import type { JoinedBodies, SaidAnswer } from '../answers/answer-format.ts';
import { CountedAnswers } from '../answers/joined-answers.ts';
import { isComplete, type ToolTurn } from '../answers/tool-turn.ts';
import { CHAT_USAGE, type Usage, UsageTally } from '../answers/usage.ts';
import { calledName } from '../tools.ts';
import { holdsError } from './answer-error.ts';
import {
  type CallPiece,
  GatheredMessage,
  isOtherCall,
  isSaid,
  NOTHING_SAID,
  nameOf,
  turnOf,
} from './calls.ts';
import { withMovedCitations } from './citations.ts';
import { ThinkingIndices, withoutBlocks } from './thinking-pieces.ts';
import { textIn, withoutWords } from './words.ts';

interface Choice {
  readonly message?: JsonObject;
  readonly finish_reason?: unknown;
  readonly logprobs?: unknown;
}

interface Completion {
  readonly choices: readonly Choice[];
  readonly usage?: Usage | null;
  readonly [field: string]: unknown;
}

const encoder = new TextEncoder();

export class JoinedChatBodies extends CountedAnswers implements JoinedBodies {
  protected readonly tally = new UsageTally(CHAT_USAGE);
  private last: Choice | undefined;
  private readonly message = new GatheredMessage();
  private readonly indices = new ThinkingIndices();
  private first: Completion | undefined;
  /** The log probabilities of all texts that the caller sees. */
  private logprobs: JsonObject | undefined;

  get said(): SaidAnswer | undefined {
    const { message, finish_reason } = this.last ?? {};
    return message && isSaid(finish_reason || 'stop')
      ? { json: JSON.stringify(message), isVerbatim: true }
      : undefined;
  }

  take(body: Uint8Array): ToolTurn | Uint8Array {
    const completion = completionOf(body);
    const choice = completion?.choices[0];
    const { message } = choice ?? {};
    if (!completion || !choice || !isObject(message)) return body;
    this.tally.count(completion.usage);

    const hasFailed = holdsError(completion);
    const calls = asList(message.tool_calls) as CallPiece[];
    const readable = calls.filter(isObject) as CallPiece[];
    const ours = readable.filter((call) => !isOtherCall(call) && this.names.has(calledName(nameOf(call))));
    const decides = ours.length > 0 && ours[0] === readable[0] && this.mayAnswer();
    // Some upstreams give no reason.
    if (decides && isComplete(choice.finish_reason || 'stop') && !hasFailed) {
      const words = this.form.isJson ? withoutWords(message) : message;
      this.add(this.signs ? words : withoutBlocks(words));
      if (!this.form.isJson) this.addLogprobs(choice);
      this.first ??= completion;
      this.goOn();
      return turnOf(message, ours);
    }
    if (ours.length === 0 && !this.first) {
      if (!hasFailed) this.last = choice;
      return body;
    }
    const kept = decides ? [] : calls.filter((call) => !ours.includes(call));
    const joined = this.callerCompletion(completion, choice, message, kept);
    if (!hasFailed) this.last = joined.choices[0];
    return encoder.encode(JSON.stringify(joined));
  }

  private addLogprobs({ logprobs }: Choice): void {
    for (const [key, list] of Object.entries(asObject(logprobs))) {
      const known = this.logprobs?.[key];
      const both =
        Array.isArray(known) && Array.isArray(list) ? [...known, ...list] : (list ?? known ?? null);
      this.logprobs = { ...this.logprobs, [key]: both };
    }
  }

  /** Adds what the caller sees of an answer. */
  private add(message: JsonObject): void {
    const before = textIn(this.message.fields.content).length;
    this.message.add(withMovedCitations(this.indices.shifted(message), before));
    this.message.begin();
    this.indices.begin();
  }

  private callerCompletion(
    last: Completion,
    choice: Choice,
    message: JsonObject,
    calls: readonly CallPiece[],
  ): { readonly choices: readonly Choice[]; readonly [field: string]: unknown } {
    const { tool_calls: _, ...all } = message;
    const words = this.signs ? all : withoutBlocks(all);
    this.add(words);
    this.addLogprobs(choice);
    const { id, created, model } = this.first ?? last;
    const usage = last.usage ? { usage: this.tally.forCaller } : {};
    const answer: JsonObject = {
      ...words,
      ...this.message.fields,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    if (calls.length === 0 && (answer.content ?? null) === null) Object.assign(answer, NOTHING_SAID);
    const stops = calls.length === 0 && isComplete(choice.finish_reason);
    const finish_reason = stops ? 'stop' : choice.finish_reason;
    return {
      ...last,
      id,
      created,
      model,
      ...usage,
      choices: [
        { ...choice, ...(this.logprobs ? { logprobs: this.logprobs } : {}), message: answer, finish_reason },
      ],
    };
  }
}

function completionOf(body: Uint8Array): Completion | undefined {
  const completion = parseJson(new TextDecoder().decode(body));
  return Array.isArray(asObject(completion).choices) ? (completion as Completion) : undefined;
}
