/**
 * Models of the deployment that their vendors switch off soon
 * (docs/deploying.md#models-that-retire). The log says so once a day, and `GET /v1/deployment`.
 */
import { agents } from '../agents.ts';
import { type Config, type Env, readConfig } from '../config.ts';
import { DAY_MS, RUNS_EVERY_MS, utcTimeOf } from '../lib/utc-time.ts';
import { createLog } from '../log.ts';
import { retirementOf } from '../memory/models/retirements.ts';
import type { ModelServer } from '../upstream/model-client.ts';
import { shutdownDate } from '../upstream/shutdown-dates.ts';

/** How long before its last day a model is named. */
const NOTICE_MS = 60 * DAY_MS;

interface RetiringModel {
  readonly setting: string;
  readonly model: string;
  /** The first day without it (YYYY-MM-DD). It may have passed. */
  readonly on: string;
  /** The model that the vendor recommends; null if none is known. */
  readonly replacement: string | null;
}

interface ConfiguredModel {
  readonly setting: string;
  readonly model: string;
  /** The server that answers for it, with the deployment's own key; undefined for callers' keys. */
  readonly server?: ModelServer | undefined;
}

/** @param now in milliseconds since the epoch */
export async function retiringModels(config: Config, now: number): Promise<readonly RetiringModel[]> {
  const until = utcTimeOf(new Date(now + NOTICE_MS)).day;
  const found = await Promise.all(configuredModels(config).map(retiring));
  return found.filter((model) => model !== undefined && model.on <= until) as RetiringModel[];
}

async function retiring({ setting, model, server }: ConfiguredModel): Promise<RetiringModel | undefined> {
  const known = retirementOf(model);
  const on = known?.on ?? (server && (await shutdownDate(server, model)));
  return on === undefined ? undefined : { setting, model, on, replacement: known?.replacement ?? null };
}

function configuredModels({
  summarizer,
  ownSummarizer,
  embeddings,
  defaultStrategy,
}: Config): ConfiguredModel[] {
  const server = summarizer && { baseUrl: summarizer.baseUrl, apiKey: summarizer.apiKey, headers: {} };
  const ofSummarizer = (summarizer?.models ?? []).map((model) => ({
    setting: model === summarizer?.model ? 'SUMMARIZER_MODEL' : 'SUMMARIZER_MODELS',
    model,
    server,
  }));
  const ofEmbeddings = embeddings && {
    setting: 'EMBEDDINGS_MODEL',
    model: embeddings.model,
    server: { baseUrl: embeddings.baseUrl, apiKey: embeddings.apiKey, headers: {} },
  };
  const ofStrategies = [
    summarizerOf('DEFAULT_MEMORY_STRATEGY', defaultStrategy),
    ...agents.map(({ key, memory_strategy }) => summarizerOf(`agent ${key}`, memory_strategy)),
  ];
  const ofOwn = ownSummarizer && { setting: 'SUMMARIZER_MODEL', model: ownSummarizer.model };
  return [...ofSummarizer, ofOwn, ofEmbeddings, ...ofStrategies].filter((model) => model !== undefined);
}

function summarizerOf(setting: string, strategy: object | undefined): ConfiguredModel | undefined {
  const { summarizer_model: model } = (strategy ?? {}) as { summarizer_model?: unknown };
  return typeof model === 'string' ? { setting, model } : undefined;
}

/**
 * Logs each model that retires soon, in the first run of a day.
 *
 * @param scheduledTime in milliseconds since the epoch
 */
export async function warnOfRetirements(env: Env, scheduledTime: number): Promise<void> {
  if (scheduledTime % DAY_MS >= RUNS_EVERY_MS) return;
  const config = readConfig(env);
  const log = createLog(config.logLevel);
  for (const { setting, model, on, replacement } of await retiringModels(config, scheduledTime))
    log('warn', 'a model of this deployment is switched off by its vendor', {
      code: 'model_retires',
      setting,
      model,
      on,
      ...(replacement === null ? {} : { replacement }),
    });
}
