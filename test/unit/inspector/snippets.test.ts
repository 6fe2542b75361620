import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { APIS, type Api, type Copied, SNIPPETS } from '../../../inspector/read/snippets.ts';
import { retirementOf } from '../../../src/memory/models/retirements.ts';

const copied: Omit<Copied, 'api'> = {
  baseUrl: 'http://127.0.0.1:8787',
  model: 'a "model"',
  strategy: { mode: 'auto', token_budget: 8_000 },
};

describe('a request that is copied', () => {
  it.each([
    ['chat', 'messages', '/v1/chat/completions', {}],
    ['responses', 'input', '/v1/responses', {}],
    ['messages', 'messages', '/v1/messages', { max_tokens: 1024 }],
  ] as const)('is a body of its API as curl: %s', (api, field, path, needs) => {
    const text = SNIPPETS.curl({ ...copied, api });
    const [, head = ''] = /<<'EOF'\n([\s\S]*)\nEOF\n/.exec(text) ?? [];
    const array = [{ role: 'user', content: 'Hello.' }];
    expect(JSON.parse(`${head}${JSON.stringify(array)}}`)).toEqual({
      model: 'a "model"',
      ...needs,
      memory_strategy: copied.strategy,
      [field]: array,
    });
    expect(text).toContain(`| curl ${copied.baseUrl}${path} \\\n`);
  });

  it('has the key of its API', () => {
    const headers = (api: Api) =>
      [...SNIPPETS.curl({ ...copied, api }).matchAll(/-H "([^"]*)"/g)].map(([, header]) => header);
    const openai = ['authorization: Bearer $OPENAI_API_KEY', 'content-type: application/json'];
    expect(headers('chat')).toEqual(openai);
    expect(headers('responses')).toEqual(openai);
    expect(headers('messages')).toEqual([
      'x-api-key: $ANTHROPIC_API_KEY',
      'anthropic-version: 2023-06-01',
      'content-type: application/json',
    ]);
  });

  it('uses the client of its API, at the URL that this client takes', () => {
    for (const language of ['TypeScript', 'Python'] as const) {
      const text = (api: Api) => SNIPPETS[language]({ ...copied, api });
      for (const api of Object.keys(APIS) as Api[]) {
        expect(text(api)).toContain(JSON.stringify(copied.strategy));
        expect(text(api).includes('max_tokens')).toBe(api === 'messages');
      }
      expect(text('chat')).toContain('"http://127.0.0.1:8787/v1"');
      expect(text('chat')).toContain('client.chat.completions.create(');
      expect(text('responses')).toContain('client.responses.create(');
      expect(text('messages')).toContain('"http://127.0.0.1:8787"');
      expect(text('messages')).toContain('client.messages.create(');
    }
    expect(SNIPPETS.TypeScript({ ...copied, api: 'messages' })).toMatch(
      /^import Anthropic from "@anthropic-ai\/sdk";\n/,
    );
    expect(SNIPPETS.Python({ ...copied, api: 'messages' })).toMatch(/^from anthropic import Anthropic\n/);
  });
});

describe('what a page shows to copy', () => {
  it('asks no model that its vendor switches off', () => {
    const files = ['inspector/screens/conversations.tsx', 'src/routes/inspector/page.ts'];
    const shown = files.map((file) => readFileSync(file, 'utf8')).join();
    const models = [...shown.matchAll(/"?\bmodel"?: ["']([a-z][\w.-]+)["']/g)].map(([, model = '']) => model);
    const all = [...models, ...Object.values(APIS).map(({ model }) => model)];

    expect(all.length).toBeGreaterThan(5);
    expect(all.filter((model) => retirementOf(model) !== undefined)).toEqual([]);
  });
});
