/**
 * The time limits of the Worker: how long it waits, for whom, and how long it rests. All are in
 * milliseconds, and each is read when its wait begins.
 *
 * A limit is here if a timer runs for it. For how long a fact is relied on (a verdict, a price,
 * what storage has shown) is defined beside the fact: nobody waits for that, and tests move the
 * clock.
 *
 * Nothing in `src/` can change a limit, and no variable does, but for the four defaults of
 * variables. Tests shorten them from outside (test/support/time-limits.ts), so a build from
 * `src/index.ts` has these values and no others.
 */
const VALUES = {
  // Defaults of variables (docs/deploying.md).

  /** Until an upstream's headers. Reasoning models can think for minutes before the first byte. */
  upstreamHeadersMs: 600_000,
  /** Between two pieces of an upstream's body. Reasoning models can think there too. */
  upstreamIdleMs: 300_000,
  /** One call to a summarizer. A request may wait for it, so this is about a person's patience. */
  summarizerCallMs: 20_000,
  /** Digests of outputs. Likewise, and a preview is at hand. */
  outputDigestsMs: 10_000,

  // A call to the upstream.

  /** Until an upstream says whether it takes a key. */
  keyVerdictMs: 5_000,
  /** Until a vendor says when it switches a model off, for the operator's page. */
  shutdownDateMs: 2_000,
  /** An error's body, until it is passed on unread. */
  errorBodyMs: 5_000,
  /**
   * The rest of a short answer after its first piece, until what has come is passed on: it almost
   * always comes at once.
   */
  answerAtOnceMs: 5,
  /**
   * The first event of a stream, or the first word of one over a bridge, for which headers wait: an
   * error may come instead. The wait delays no text. When a model thinks for longer, its caller has
   * the headers once the first comment would be due.
   */
  streamBeginningMs: 15_000,
  /** Between comments in a silent stream: below the usual idle limits of proxies. */
  keepaliveMs: 15_000,

  // Storage, while a request waits.

  /** Writes of refs, and a conversation's object (docs/design.md#7-storage). */
  refWriteMs: 1_500,
  /** Settings without a user, which only make a warning. */
  userlessSettingsMs: 500,
  /** Other conversations, or memory blocks: three calls, and possibly a check of the key. */
  memoryReadMs: 3_000,
  /** Kept rounds of earlier answers: their rows, and then their messages. */
  keptRoundsMs: 5_000,
  /** Which requests came when the upstream's cache was cold. The object may report itself first. */
  coldReturnsMs: 3_000,
  /** The last event of an answer, until its rounds are kept (docs/design.md#kept-rounds). */
  keepRoundsMs: 1_500,
  /** Whether the frontier has moved elsewhere. The object is asked while the upstream works. */
  movedSinceMs: 1_000,
  /** What an object takes to decide, beyond its own waits. It decides in microseconds. */
  objectCallMs: 5_000,

  /** Whether a caller may still spend (docs/operating.md#budgets-and-limits). */
  limitsMs: 1_500,
  /** The pause before spent tokens that could not be counted are reported again. */
  reportSpentPauseMs: 2_000,
  /** The register of callers. */
  registerMs: 1_500,

  // Tools of the model.

  /** A content by its ref, a passage, or a block. */
  toolStorageMs: 5_000,
  /** A search of the conversation. */
  toolSearchMs: 3_000,
  /** Until the request's own messages are archived, so that a search finds them. */
  archivedArrayMs: 3_000,
  /** A search of all archives of a user: less than `toolSearchMs`, so that what came is given. */
  userHitsMs: 2_500,
  /** Its vector: less than that, so that words alone can be found without one. */
  userVectorMs: 1_500,
  /** The vector of a search of one archive: less than `toolSearchMs`, for the same reason. */
  searchVectorMs: 2_000,

  // Summaries.

  /** A request waits for a summary in the making (docs/design.md#7-storage). */
  summaryMs: 20_000,
  /** Where a whole conversation is compacted, since a digest would stay for good. */
  wholeSummaryMs: 120_000,
  /** The least limit of one call to a summarizer then. */
  wholeSummaryCallMs: 60_000,
  /** One call for a summary that an API makes and signs: it reads all that a view has. */
  ownSummaryMs: 120_000,
  /** The pause before the second attempt of a request that waits; each further one is longer. */
  summaryBackoffMs: 500,
  /** The longest of these pauses. */
  longestSummaryPauseMs: 4_000,
  /** The longest of a digest of an output. */
  longestDigestPauseMs: 2_000,
  /** The longest pause between two attempts for a memory of `rolling_summary`. */
  longestRollingPauseMs: 60_000,
  /** The rest after a failed summary. Each further failure doubles it. */
  summaryRestMs: 30_000,
  /** The rest of a conversation whose requests never continue each other. */
  unlinkedRestMs: 3_600_000,
  /** The shortest rest that a strategy can ask for. A rest of 0 would not double. */
  shortestRestMs: 100,
  /** The longest rest. */
  longestRestMs: 3_600_000,
  /** The longest rest that an order waits for in the object. */
  longestAwaitedRestMs: 60_000,
  /** Until a user's memory has taken the summary of a session. */
  publishMs: 5_000,

  // Routes.

  /** A body that is being read, before it gives way where there is no room for others. */
  bodyPatienceMs: 10_000,

  /** Storage. */
  routeStorageMs: 10_000,
  /** One call that waits in a conversation's object (docs/design.md#5-routes). */
  idleCallMs: 10_000,
  /** The wait in the object itself: less than `idleCallMs`. */
  idleTurnMs: 5_000,
  /** A flush (docs/conversations.md). */
  flushMs: 60_000,
  /** Some records of a backup, or their return: up to 50 calls of storage. */
  backupMs: 60_000,
  /** Until an object has kept the events that an isolate has gathered, before they are read. */
  keptEventsMs: 1_000,
  /** An erasure, until its caller gets an answer: less than `routeStorageMs`. */
  eraseAnswerMs: 8_000,

  // After an answer.

  /** An answer that is already there goes out first. */
  afterAnswerMs: 10,
  /** How long an event waits for others of its conversation, which then share its call. */
  gatherEventsMs: 100,
  /** Until an object has kept events. */
  keepEventMs: 5_000,
  /** Before events that were not kept are sent again. */
  eventPauseMs: 1_000,
  /** Between two calls with the sums of a conversation, to its tenant's object. */
  sumsMs: 300_000,
  /** Until R2 has deleted rounds that are not kept. */
  dropRoundsMs: 10_000,
  /** Until a receiver has answered a callback. All three tries end within the 30 s of such work. */
  webhookTryMs: 5_000,
  /** Before the second try of a callback. */
  webhookPauseMs: 1_000,
  /** Before the third. */
  longerWebhookPauseMs: 4_000,
  /** One call for the vectors of messages. */
  embeddingCallMs: 10_000,
  /** Until the last such call of one run may begin. */
  embeddingRunMs: 25_000,
  /** Before a call is repeated, if the server asks for no pause. */
  embeddingPauseMs: 1_000,
  /** The longest pause that a server of embeddings can ask for. */
  longestEmbeddingPauseMs: 5_000,

  // Counts and spans of an isolate.

  /** The least time between two batches of metrics. */
  metricsBatchMs: 10_000,
  /** Until a batch of unknown fate is given up: less than the object remembers one. */
  metricsGiveUpMs: 30 * 60_000,
  /** How long spans and metrics are gathered for a collector. */
  spansBatchMs: 1_000,
  /** Until a collector has taken them. */
  collectorTryMs: 5_000,
  /** Before the second try. */
  collectorPauseMs: 1_000,
  /** A wait that is over for so long was cut off with its request. */
  cutOffMs: 5_000,

  // A tenant's object.

  /** After a failure, until its alarm tries again. */
  alarmPauseMs: 60_000,
  /** One step of an erasure or a collection. */
  eraseStepMs: 5 * 60_000,
};

/** @see VALUES */
export const TIME_LIMITS: Readonly<typeof VALUES> = VALUES;
