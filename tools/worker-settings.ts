/**
 * Loaded into wrangler's own process (`--require`): writes the settings of the Worker in
 * wrangler.toml, as Miniflare takes them, to the path `SETTINGS_INTO`, when wrangler has built it.
 */
import { writeFileSync } from 'node:fs';

const { SETTINGS_INTO = '' } = process.env;

process.once('exit', (code) => {
  if (code !== 0) return;
  // wrangler is the main module: to load it again would take as long as all else here.
  const wrangler = process.mainModule?.exports as typeof import('wrangler');
  const { workerOptions } = wrangler.unstable_getMiniflareWorkerOptions('wrangler.toml');
  const { rootPath: _, ...settings } = workerOptions;
  writeFileSync(SETTINGS_INTO, JSON.stringify(settings));
});
