/** The configurations of `examples/clients/`: where each sends its requests, with which headers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { experimental_readRawConfig } from 'wrangler';
import { parse } from 'yaml';
import { ROOT } from '../../../tools/worker-server.ts';

/** What a client makes of its configuration. */
export interface ClientSettings {
  readonly baseURL: string;
  readonly headers: Readonly<Record<string, string>>;
}

const DIRECTORY = join(ROOT, 'examples/clients');

/** The text of a file in `examples/clients/`. */
export const configurationText = (file: string): string => readFileSync(join(DIRECTORY, file), 'utf8');

/** The base URL of the page's forms: Open WebUI, Roo Code and n8n have no file. */
export const LOCAL = 'http://127.0.0.1:8787/v1';

/** By the client's name. */
export const SETTINGS: Readonly<Record<string, ClientSettings>> = {
  Codex: codex(),
  OpenCode: openCode(),
  Continue: continueDev(),
  Aider: aider(),
  Cline: cline(),
  LibreChat: libreChat(),
  'Open WebUI': { baseURL: LOCAL, headers: JSON.parse(configurationText('open-webui.json')) },
};

function codex(): ClientSettings {
  const { rawConfig } = experimental_readRawConfig({ config: join(DIRECTORY, 'codex.toml') });
  const { model_provider, model_providers } = rawConfig as unknown as {
    model_provider: string;
    model_providers: Record<string, { base_url: string; http_headers: Record<string, string> }>;
  };
  const provider = model_providers[model_provider];
  if (!provider) throw new Error(`there is no provider ${model_provider}`);
  return { baseURL: provider.base_url, headers: provider.http_headers };
}

function openCode(): ClientSettings {
  const { provider } = JSON.parse(configurationText('opencode.json')) as {
    provider: { openai: { options: ClientSettings } };
  };
  return provider.openai.options;
}

function continueDev(): ClientSettings {
  const { models } = parse(configurationText('continue.yaml')) as {
    models: [{ apiBase: string; requestOptions: { headers: Record<string, string> } }];
  };
  return { baseURL: models[0].apiBase, headers: models[0].requestOptions.headers };
}

function aider(): ClientSettings {
  const main = parse(configurationText('aider.conf.yml')) as { 'openai-api-base': string };
  const [{ extra_params }] = parse(configurationText('aider.model.settings.yml')) as [
    { extra_params: { extra_headers: Record<string, string> } },
  ];
  return { baseURL: main['openai-api-base'], headers: extra_params.extra_headers };
}

function cline(): ClientSettings {
  const { lastUsedProvider, providers } = JSON.parse(configurationText('cline.json')) as {
    lastUsedProvider: string;
    providers: Record<string, { settings: { baseUrl: string; headers: Record<string, string> } }>;
  };
  const provider = providers[lastUsedProvider];
  if (!provider) throw new Error(`there is no provider ${lastUsedProvider}`);
  return { baseURL: provider.settings.baseUrl, headers: provider.settings.headers };
}

function libreChat(): ClientSettings {
  const { endpoints } = parse(configurationText('librechat.yaml')) as {
    endpoints: { custom: [ClientSettings] };
  };
  const { baseURL, headers } = endpoints.custom[0];
  // LibreChat fills these in.
  const filled = Object.entries(headers).map(([name, value]) => [
    name,
    value.replace('{{LIBRECHAT_BODY_CONVERSATIONID}}', 'c-1').replace('{{LIBRECHAT_USER_ID}}', 'u-1'),
  ]);
  return { baseURL, headers: Object.fromEntries(filled) };
}
