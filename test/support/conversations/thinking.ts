/** Conversations whose model signs what it thinks, as they grow through their views. */
import { messagesBody } from '../../../tools/upstream/blocks.ts';
import {
  blocksIn,
  type Dialect,
  fieldsOf,
  nextThought,
  sealedThought,
} from '../../../tools/upstream/bound-thinking.ts';
import { responsesBody } from '../../../tools/upstream/items.ts';
import type { ConversationBody } from './arbitrary-conversation.ts';
import { asBlocksSayIt } from './messages.ts';

type Message = ConversationBody['messages'][number];
type Body = Record<string, unknown>;

/** One request of a conversation. */
export interface ThoughtRequest<Viewed> {
  readonly viewed: Viewed;
  /** The body that came. */
  readonly came: Body;
  /** The body that was sent. */
  readonly sent: Body;
}

/** Fields with thinking that generated conversations already have. */
const OTHERS = ['reasoning', 'reasoning_content', 'reasoning_details'];

/**
 * The requests of a conversation. Each answer has thinking that is signed over the view that it was
 * made for.
 *
 * @param thinks whether an answer has thinking, by its place
 * @param viewOf the view of a request, and its body
 */
export function growWithThinking<Viewed>(
  body: ConversationBody,
  dialect: Dialect,
  thinks: (answer: number) => boolean,
  viewOf: (body: Body) => { readonly viewed: Viewed; readonly sent: Body },
): ThoughtRequest<Viewed>[] {
  const messages: Message[] = [];
  const requests: ThoughtRequest<Viewed>[] = [];
  const ask = (): Body => {
    const chat = { ...body, messages: [...messages] };
    const came = asIn(dialect, chat);
    const { viewed, sent } = viewOf(came);
    requests.push({ viewed, came, sent });
    return sent;
  };
  let spoke: unknown;
  const { messages: all } = dialect === 'messages' ? asBlocksSayIt(body) : body;
  for (const message of all) {
    const { role } = message;
    const isAnswer = role === 'assistant' && (spoke === 'user' || spoke === 'tool');
    const sent = isAnswer ? ask() : undefined;
    const said = Object.fromEntries(Object.entries(message).filter(([key]) => !OTHERS.includes(key)));
    const thought =
      sent && thinks(requests.length) ? nextThought(sent, thoughtOf(requests.length)) : undefined;
    messages.push({ ...said, ...(thought ? thoughtFields(dialect, thought) : {}) });
    if (role !== 'system' && role !== 'developer') spoke = role;
  }
  ask();
  return requests;
}

function asIn(dialect: Dialect, chat: ConversationBody): Body {
  if (dialect === 'messages') return messagesBody({ ...chat });
  return dialect === 'responses' ? asItems(chat) : { ...chat };
}

/** In the Responses API it is an item of its own, which `asItems` makes. */
function thoughtFields(dialect: Dialect, thought: ReturnType<typeof nextThought>): Body {
  return dialect === 'responses' ? { reasoning_content: sealedThought(thought) } : fieldsOf(dialect, thought);
}

/** A chat body as one of the Responses API, with its reasoning encrypted. */
function asItems(chat: ConversationBody): Body {
  const { input, ...body } = responsesBody({ ...chat });
  const items = (input as Body[]).map((item) => {
    const [part] = item.type === 'reasoning' ? (item.content as Body[]) : [];
    return part ? { type: 'reasoning', summary: [], encrypted_content: part.text } : item;
  });
  return { ...body, input: items };
}

/** A text of a few words, or of many. */
function thoughtOf(answer: number): string {
  return `Thought ${answer}.${' I weigh it once more.'.repeat((answer * 7) % 40)}`;
}

/** How many blocks of thinking a body has. */
export function blocksOf(sent: Body): number {
  return blocksIn(sent).length;
}
