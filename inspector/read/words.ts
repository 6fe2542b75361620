/**
 * The words of the page: for each term a plain label and one sentence. docs/design.md has the
 * exact terms.
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
    says: 'The tokens of each request as your client sent it, and of Precis’s tools.',
  },
  sent: {
    label: 'sent',
    says: 'The tokens of the first call: what came in, less what was removed; without later fetches.',
  },
  would_be_sent: {
    label: 'would be sent',
    says: 'The tokens that would have been sent if the strategy had been applied, not only observed.',
  },
  not_sent: {
    label: 'not sent',
    says: 'The tokens that came in and were not in the first call, in each request that lacks them. What the model fetched later is not deducted.',
  },
  billed_less: {
    label: 'not sent, as billed',
    says: 'By the vendor’s count, how much less the first call had than the whole array without Precis’s tools.',
  },
  view: {
    label: 'what the model saw',
    says: 'The messages that the model got instead of the ones that came in; the docs call them the view.',
  },
  budget: {
    label: 'budget',
    says: 'The size in tokens above which the strategy removes something, as soon as that pays.',
  },
  window: {
    label: 'window',
    says: 'The context window: the most tokens that the model accepts in one request.',
  },
  compacted: {
    label: 'compacted here',
    says: 'More was shortened than in the request before; the docs say that the frontier moved.',
  },
  compacted_up_to: {
    label: 'compacted up to',
    says: 'Messages up to here may be shortened, and the rest stays; the docs call this the frontier, and count it in units.',
  },
  waits: {
    label: 'waits',
    says: 'Something could be removed, but not yet: the lost cache would cost more than it saves.',
  },
  because: {
    label: 'because',
    says: 'What made the strategy act: a budget, a number of turns, steps or messages, a limit, or “force”.',
  },
  strategy: {
    label: 'strategy',
    says: 'What may be removed and when: from the request, else its conversation, its agent, or the deployment.',
  },
  placeholder: {
    label: 'placeholder',
    says: 'A line that replaces removed content: its size, its beginning, and the ref under which it is kept.',
  },
  ref: {
    label: 'ref',
    says: 'The name under which removed content is kept, so that you or the model can fetch it.',
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
    says: 'Input tokens that the model’s vendor had cached from an earlier request, at a lower price.',
  },
  paid: {
    label: 'paid',
    says: 'What the model calls cost at list prices, including summaries and what the model fetched.',
  },
  would_have_been: {
    label: 'without Precis',
    says: 'What the whole array would have cost in one call, with every hit that the vendor’s cache could have had.',
  },
  net: {
    label: 'net savings',
    says: 'The price without Precis, less all that was paid. Negative for a loss.',
  },
  potential: {
    label: 'potential savings',
    says: 'What an observed request would have saved, if the plan had been applied.',
  },
  removed: {
    label: 'removed',
    says: 'What the removed tokens would have cost in these requests.',
  },
  summarizer: {
    label: 'summarizer',
    says: 'What the model that writes the summaries cost, at its own price.',
  },
  fetches: {
    label: 'fetches',
    says: 'What further calls cost in which the model fetched removed contents.',
  },
  broken_cache: {
    label: 'cache read again',
    says: 'What it cost to pay shortened messages in full once, since they are new to the vendor’s cache.',
  },
  paid_back: {
    label: 'paid back',
    says: 'The request at which a compaction has saved more than its lost cache and its summary cost.',
  },
  kept_rounds: {
    label: 'fetched earlier',
    says: 'What the model fetched for an earlier answer, shown before that answer.',
  },
  injected: {
    label: 'added',
    says: 'Text that Precis added: memory of the user’s other conversations, or memory blocks.',
  },
  observed: {
    label: 'only observed',
    says: 'The request was sent unchanged, and the page shows what would have been done.',
  },
  archive: {
    label: 'archive',
    says: 'The unchanged messages of a conversation, kept if its strategy or the deployment says so.',
  },
} as const satisfies Readonly<Record<string, Words>>;

export type TermName = keyof typeof TERMS;
