/**
 * The words of the page: for each term a plain label and one sentence. `npm run docs`
 * writes the table of docs/inspector.md from it, and docs/design.md has the exact terms.
 */

export interface Words {
  readonly label: string;
  /** One sentence, for somebody who has never heard the label. */
  readonly says: string;
}

export const TERMS = {
  request: {
    label: 'request',
    says: 'One call of your client: all messages of its conversation so far, and the answer to them.',
  },
  conversation: {
    label: 'conversation',
    says: 'All requests that name the same conversation, or that begin with the same messages.',
  },
  came: {
    label: 'came in',
    says: 'The tokens of each request as your client sent it, and of the tools that Precis adds to it.',
  },
  sent: {
    label: 'sent',
    says: 'The tokens of the first call to the model: those that came in, less what was removed; further calls for what the model fetches are not in it.',
  },
  would_be_sent: {
    label: 'would be sent',
    says: 'The tokens that would have gone to the model, if the strategy had not only been observed.',
  },
  not_sent: {
    label: 'not sent',
    says: 'The tokens that came in and were not in the first call to the model, in each request that lacks them; what the model fetched later is not taken off.',
  },
  billed_less: {
    label: 'not sent, as billed',
    says: 'By the vendor’s count, what the first call had less than the whole array, which has none of the tools that Precis adds.',
  },
  view: {
    label: 'what the model saw',
    says: 'The messages that went to the model instead of the ones that came in; the docs call them the view.',
  },
  budget: {
    label: 'budget',
    says: 'The size in tokens above which the strategy removes something, as soon as that pays.',
  },
  window: {
    label: 'window',
    says: 'The most tokens that the model takes in one request.',
  },
  compacted: {
    label: 'compacted here',
    says: 'In this request more messages were shortened than in the one before; the docs say that the frontier moved.',
  },
  compacted_up_to: {
    label: 'compacted up to',
    says: 'The messages that may be shortened, and the rest stays; the docs call their end the frontier, and count in units.',
  },
  waits: {
    label: 'waits',
    says: 'Something could be removed, and is not yet, because the lost cache would cost more than it saves.',
  },
  because: {
    label: 'because',
    says: 'What made the strategy act: a budget, a number of turns, steps or messages, a limit, or your own word.',
  },
  strategy: {
    label: 'strategy',
    says: 'What may be removed and when: from the request, else its conversation, its agent, or the deployment.',
  },
  placeholder: {
    label: 'placeholder',
    says: 'A line that replaces a removed content: its size, how it begins, and the ref under which it is kept.',
  },
  ref: {
    label: 'ref',
    says: 'The name under which a removed content is kept, so that you or the model can fetch it.',
  },
  summary: {
    label: 'summary',
    says: 'A text by the summarizer that replaces old messages, and grows with the conversation.',
  },
  transcript: {
    label: 'transcript',
    says: 'The messages that a summary replaces, word for word, under a ref.',
  },
  recent: {
    label: 'recent messages',
    says: 'The newest turns or steps, which are left alone; the docs call them the tail.',
  },
  turn: {
    label: 'turn',
    says: 'A user message and all that follows it up to the next user message.',
  },
  unit: {
    label: 'unit',
    says: 'What may not be split: a user message, or an assistant message with the results of its calls.',
  },
  cached: {
    label: 'read from the cache',
    says: 'Input tokens that the model’s vendor had kept from an earlier request and bills at a lower price.',
  },
  paid: {
    label: 'paid',
    says: 'What the model calls have cost at list prices, with the summaries and what the model has fetched.',
  },
  would_have_been: {
    label: 'without Precis',
    says: 'What the whole array would have cost in one call, with every hit that the vendor’s cache could have had.',
  },
  net: {
    label: 'net savings',
    says: 'Without Precis less paid: what was saved after all costs, negative for a loss.',
  },
  potential: {
    label: 'potential savings',
    says: 'What an observed request would have saved, if what was planned had been sent.',
  },
  removed: {
    label: 'removed',
    says: 'The price that the removed tokens would have had in these requests.',
  },
  summarizer: {
    label: 'summarizer',
    says: 'What the model that writes the summaries has cost, at its own price.',
  },
  fetches: {
    label: 'fetches',
    says: 'What it has cost that the model fetched removed contents, in further calls.',
  },
  broken_cache: {
    label: 'cache read again',
    says: 'What it has cost that shortened messages are new to the vendor’s cache, and are paid in full once.',
  },
  paid_back: {
    label: 'paid back',
    says: 'The request from which on a compaction has saved more than its lost cache and the summary that it waited for have cost.',
  },
  kept_rounds: {
    label: 'fetched earlier',
    says: 'What the model has fetched for an earlier answer, shown before that answer.',
  },
  injected: {
    label: 'added',
    says: 'Text that Precis has added: of the user’s other conversations, or memory blocks.',
  },
  observed: {
    label: 'only observed',
    says: 'The request was sent unchanged, and the page shows what would have been done.',
  },
  archive: {
    label: 'archive',
    says: 'The messages of a conversation, unchanged, which are kept if its strategy has “archive: true”.',
  },
} as const satisfies Readonly<Record<string, Words>>;

export type TermName = keyof typeof TERMS;
