/**
 * Lets Node import names from JSON, as the bundler of the Worker does
 * (`import { version } from './package.json'`): `node --import ./tools/json-names.ts`.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

registerHooks({
  load(url, context, next) {
    // What is required has no attributes.
    const { type } = context.importAttributes ?? { type: 'json' };
    if (!url.endsWith('.json') || type === 'json') return next(url, context);
    const values = Object.entries(JSON.parse(readFileSync(fileURLToPath(url), 'utf8')));
    const lines = values.map(
      ([name, value], at) =>
        `const v${at} = ${JSON.stringify(value)}; export { v${at} as ${JSON.stringify(name)} };`,
    );
    return { format: 'module', source: lines.join('\n'), shortCircuit: true };
  },
});
