/** What each variable of a deployment means, for the table in `docs/deploying.md#variables`. */
import type { VariableName } from '../src/config.ts';

export const VARIABLE_MEANINGS: Readonly<Record<VariableName, string>> = {
  PRECIS_SECRET: 'A secret: the root of all keys.',
  PRECIS_SECRET_PREVIOUS:
    'A secret: the previous one, during a [rotation](operating.md#rotating-the-secret).',
  UPSTREAM_BASE_URL:
    "Any API that is compatible with OpenAI's; requests can't choose another. Azure: `…/openai/v1`, where `model` names the deployment; or `…/openai` for AzureOpenAI clients with keys of their own, which name it in the path (then set `SUMMARIZER_BASE_URL`).",
  UPSTREAM_API_KEY: "A secret, with `ACCESS_KEYS`: the account's key for this API.",
  ANTHROPIC_BASE_URL:
    "Any API that speaks Anthropic's [Messages](messages-api.md), likewise. By default [by the upstream](#the-upstream-of-messages).",
  ANTHROPIC_API_KEY: "A secret, with `ACCESS_KEYS`: the account's key for this API.",
  ACCESS_KEYS: 'A secret: the keys of [many callers of one account](#one-account-for-many-callers).',
  FORWARDED_HEADERS: 'With `ACCESS_KEYS`: further headers to forward, names or prefixes.',
  FORWARDED_ITEMS: 'With `ACCESS_KEYS`: further kinds of items to forward.',
  FORWARDED_TOOLS: 'With `ACCESS_KEYS`: further types of tools to forward.',
  CALLER_LIMITS:
    'With `ACCESS_KEYS`: what each caller may spend, as JSON by name ([budgets and limits](operating.md#budgets-and-limits)).',
  LIMITS_UNREACHABLE:
    "`allow`: a request is sent although its caller's limits, or the register of callers, can't be read; `refuse`: it is refused.",
  VERIFY_KEYS: '`false`: every key is accepted ([what a key opens](#what-a-key-opens)).',
  UNVERIFIED_READS:
    "`allow`: stored data can be read, but not changed, while the upstream can't be asked about the key.",
  LOCAL_TENANT:
    'The tenant of all callers with a short key or none, for [local models](local-models.md); not with `ACCESS_KEYS`.',
  LOCAL_HOSTS:
    'With `LOCAL_TENANT`: further host names of the deployment, besides `localhost` and loopback addresses, without ports, separated by commas.',
  DEFAULT_MEMORY_STRATEGY: 'A mode, or a strategy as JSON, for requests without one.',
  ISOLATION:
    'Where requests [name users and conversations](conversations.md#naming-users-and-conversations-elsewhere), as JSON.',
  SUMMARIZER_BASE_URL: 'The API of your own [summarizer](#summarizer).',
  SUMMARIZER_MODEL: "Its model. Without the others: the model that the request's upstream uses.",
  SUMMARIZER_API_KEY: 'A secret: its key.',
  SUMMARIZER_MODELS: 'Other models that `summarizer_model` may name, separated by commas.',
  SUMMARIZER_TIMEOUT_MS: 'The limit of one call of the summarizer.',
  OFFLOAD_DIGEST_WAIT_MS:
    'How long a request waits for [digests of large outputs](strategy-reference.md#digests-of-large-outputs).',
  SUMMARIZER_WINDOW_TOKENS:
    "The summarizer's context window, by default the model's; longer input is read in portions.",
  EMBEDDINGS_BASE_URL: 'The API of [embeddings](#embeddings) for the search of archives.',
  EMBEDDINGS_MODEL: 'Its model. The address, the model and the key are set together or not at all.',
  EMBEDDINGS_API_KEY: 'A secret: its key.',
  EMBEDDINGS_WINDOW_TOKENS:
    'The longest text that the model accepts, 64 to 32,768; longer ones are truncated.',
  UPSTREAM_HEADERS_TIMEOUT_MS: 'How long the upstream may take to begin its answer.',
  UPSTREAM_IDLE_TIMEOUT_MS: 'How long it may be silent within an answer.',
  UPSTREAM_NATIVE_COMPACTION:
    "`true`: the upstream supports `context_management` and `compaction_trigger`, as OpenAI's does. Messages need no variable.",
  UPSTREAM_PROMPT_CACHE:
    '`false`: the upstream refuses the fields of a prompt cache. It gets no [marks](design.md#marks), and [keys](money.md#keys-of-prompt-caches) only from callers.',
  MODEL_PRICES:
    'Prices of models that [the table](../src/memory/models/published-prices.ts) lacks, as JSON ([prices](money.md#prices)). A family is a prefix of model names.',
  MODEL_WINDOWS:
    'Context windows of models that [the table](../src/memory/models/facts.ts) lacks: `[{"family": "my-model", "window": 131072}]`, optionally with `output`, the longest answer. The longest family that a name begins with applies.',
  TOKEN_FACTORS:
    'Tokens relative to `o200k`, 0.25 to 4, of models that [the table](../src/memory/models/facts.ts) lacks or counts wrongly: `[{"family": "my-model", "factor": 1.2}]`. The longest family applies.',
  RETENTION_DAYS:
    'Delete data that was not used for this many days ([retention](operating.md#what-is-kept-and-how-long)).',
  ARCHIVE:
    '`always`: each conversation that a request names is [archived](conversations.md#the-archive), in every mode, whatever its strategy says. `asked`: where the strategy, or its agent, says so.',
  USER_ARCHIVE:
    '`on`: if the request asks for it, a model may search [all conversations](conversations.md#all-conversations-of-a-user) of its user, and keep passages for them. Turn it on only if callers set the user themselves, not their users.',
  OBSERVE: '`true`: every request is only [observed](answers-and-errors.md#observing).',
  OBSERVE_SHARE:
    'The share of conversations that are only observed, from 0 to 1: all others are sent by their strategy ([on trial](answers-and-errors.md#on-trial)).',
  EVENTS: '`off`: no [events](conversations.md#requests) of requests are kept.',
  LOG_LEVEL: 'The lowest level of the [log](operating.md#logs): `debug`, `info`, `warn` or `error`.',
  OTLP_ENDPOINT: 'The base URL of a collector of [traces](operating.md#traces), without `/v1/traces`.',
  OTLP_HEADERS:
    'Headers for it, such as `authorization=Bearer%20…,x-team=memory`; a secret if they hold a key.',
  OTLP_SHARE: 'The share of the requests without a `traceparent` that are traced, from 0 to 1.',
  WEBHOOK_URL: 'A receiver of [callbacks](operating.md#callbacks).',
  WEBHOOK_SECRET: 'The secret that signs them. Set both, or none.',
  METRICS_TOKEN:
    'A secret of at least 20 characters, equal to no other; turns on [metrics](operating.md#metrics).',
  ADMIN_TOKEN:
    "A secret of at least 20 characters, equal to no other; opens the operator's routes ([the doctor](operating.md#the-doctor), [backups](operating.md#backup-and-restore), [callers](operating.md#the-operators-view)).",
};
