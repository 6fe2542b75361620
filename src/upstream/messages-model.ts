/**
 * A call of a model over Anthropic's API, with the answer in the shape of a chat completion
 * (https://platform.claude.com/docs/en/api/messages).
 */
import type OpenAI from 'openai';

interface AskedMessages {
  readonly model: string;
  readonly max_tokens: number;
  readonly system: string;
  readonly user: string;
  /** Absent for models that have no such setting. */
  readonly output_config?: { readonly effort: 'low' };
}

/** What is read of an answer. Other servers than Anthropic's may leave out any of it. */
interface Message {
  readonly content?: readonly { readonly type?: string; readonly text?: string }[];
  readonly stop_reason?: string | null;
  readonly usage?: {
    readonly input_tokens?: number;
    readonly output_tokens?: number;
    readonly cache_read_input_tokens?: number | null;
    readonly cache_creation_input_tokens?: number | null;
  };
}

type Completion = Pick<OpenAI.ChatCompletion, 'choices' | 'usage'>;

/** @param client of a server of Anthropic's API. @throws APIError */
export async function askMessages(
  client: OpenAI,
  { user, ...asked }: AskedMessages,
  signal: AbortSignal,
): Promise<Partial<Completion>> {
  const body = { ...asked, messages: [{ role: 'user', content: user }] };
  return completionOf(await client.post<Message>('/messages', { body, signal }));
}

function reasonOf(stopped: string | null | undefined): OpenAI.ChatCompletion.Choice['finish_reason'] {
  if (stopped === 'end_turn' || stopped === 'stop_sequence') return 'stop';
  return stopped === 'max_tokens' ? 'length' : 'content_filter';
}

function completionOf({ content = [], stop_reason, usage = {} }: Message): Completion {
  const texts = content.filter(({ type }) => type === 'text').map(({ text = '' }) => text);
  const { input_tokens = 0, output_tokens = 0 } = usage;
  const cached_tokens = usage.cache_read_input_tokens ?? 0;
  const cache_write_tokens = usage.cache_creation_input_tokens ?? 0;
  const prompt_tokens = input_tokens + cached_tokens + cache_write_tokens;
  return {
    choices: [
      {
        index: 0,
        logprobs: null,
        finish_reason: reasonOf(stop_reason),
        message: { role: 'assistant', content: texts.length > 0 ? texts.join('') : null, refusal: null },
      },
    ],
    usage: {
      prompt_tokens,
      completion_tokens: output_tokens,
      total_tokens: prompt_tokens + output_tokens,
      prompt_tokens_details: { cached_tokens, cache_write_tokens },
    },
  };
}
