/**
 * A model that thinks before each answer, and signs what it thinks. It refuses thinking after a
 * changed prefix, or drops it where a request asks for that, or without being asked.
 */
import { type Behaviour, behave, respond, sendAnswer, sendJson, tokensOf } from './behaviours.ts';
import {
  asksToDrop,
  blocksIn,
  boundWords,
  type Dialect,
  deltasOf,
  fieldsOf,
  invalidBlocks,
  nextThought,
  sealedThought,
} from './bound-thinking.ts';
import { type Answer, usageOf } from './completion.ts';
import type { RecordedRequest } from './recorded-request.ts';

type Json = RecordedRequest['body'];

export interface SigningModel {
  readonly behaviour: Behaviour;
  /** How many requests had a block that is bound to something else. */
  refused: number;
  /** How many blocks answers were made without, each once. */
  dropped: number;
  /** How often a block was valid that was not in the request before, under an earlier setting. */
  regained: number;
}

export interface SigningOptions {
  readonly dialect: Dialect;
  /** What the model answers. */
  answer(body: Json): Answer;
  /** What it thinks. Default: the same before every answer. */
  thought?(body: Json): string;
  /** Whether it drops what others refuse, without an error, as OpenAI's do since GPT-6.2. */
  readonly drops?: boolean;
}

/** What a thought takes, in tokens of the answer. */
export const thoughtTokens = (text: string): number => Math.ceil(text.length / 4);

export const THOUGHT = 'I should look at what I have, and go on from there.';

export function signingModel({ dialect, answer, thought, drops = false }: SigningOptions): SigningModel {
  const dropped = new Set<string>();
  let answers = 0;
  let invalidBefore = new Set<string>();
  const model: SigningModel = {
    refused: 0,
    dropped: 0,
    regained: 0,
    behaviour: (request, response, recorded) => {
      const { body } = recorded;
      const invalid = invalidBlocks(body);
      const [refused] = invalid;
      if (refused) model.refused++;
      const isDropped = refused !== undefined && (drops || asksToDrop(recorded));
      const lost = isDropped ? invalid.filter(({ signature }) => !dropped.has(signature)) : [];
      for (const { signature } of lost) dropped.add(signature);
      model.dropped = dropped.size;
      if (refused && !isDropped)
        return sendJson(response, refusalOf(dialect, boundWords(refused.element)), 400);
      // A summarizer's or an embedder's request is none of a conversation.
      if (!body.messages && !body.input) return behave({ type: 'answer' }, request, response, recorded);
      const isInvalid = new Set(invalid.map(({ signature }) => signature));
      const isAgain = ({ signature }: { signature: string }) =>
        invalidBefore.has(signature) && !isInvalid.has(signature);
      model.regained += blocksIn(body).filter(isAgain).length;
      invalidBefore = isInvalid;
      // What was lost is thought once more, and billed again.
      const thoughts = thought?.(body) ?? THOUGHT;
      const next = nextThought(body, lost.length > 0 ? `${thoughts} ${thoughts}` : thoughts);
      const usage = usageOf(tokensOf(recorded), 20, thoughtTokens(next.text));
      const said = answer(body);
      if (dialect === 'responses') {
        // Of a very long answer, what is read is without the list.
        const fields = drops && ++answers % 3 > 0 ? { input_transformations: removedFrom(body) } : {};
        return respond(response, body, {
          ...said,
          reasoning: { encrypted: sealedThought(next) },
          usage,
          fields,
        });
      }
      const thoughtOf = { fields: fieldsOf(dialect, next), deltas: deltasOf(dialect, next) };
      const frame = { id: 'chatcmpl-thinker', model: String(body.model), usage };
      return sendAnswer(response, body, { ...said, thought: thoughtOf }, frame);
    },
  };
  return model;
}

/** What OpenAI says in each answer of the reasoning that the model was not shown. */
function removedFrom(body: Json): object[] {
  const input = body.input as Json[];
  return invalidBlocks(body).map(({ element }) => ({
    ...{ type: 'reasoning', id: input[element]?.id, action: 'removed', reason: 'prefix_mismatch' },
  }));
}

/** An error in the words of each gateway. */
function refusalOf(dialect: Dialect, message: string): object {
  const anthropic = { type: 'error', error: { type: 'invalid_request_error', message } };
  if (dialect === 'openrouter')
    return {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: JSON.stringify(anthropic), provider_name: 'Anthropic' },
      },
    };
  if (dialect === 'litellm')
    return { error: { message: `litellm.BadRequestError: AnthropicException - ${message}`, code: '400' } };
  return dialect === 'parts' ? anthropic : { error: { message, code: 'invalid_request' } };
}
