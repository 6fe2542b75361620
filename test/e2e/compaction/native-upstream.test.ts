import { describe, expect, it } from 'vitest';
import { deploy } from '../../support/deployment/deployment.ts';

describe('an upstream that compacts by itself', () => {
  const native = deploy({
    vars: { UPSTREAM_NATIVE_COMPACTION: 'true' },
    upstream: { strict: { jsonArguments: true } },
  });
  const ask = async (fields: object) => {
    const response = await native.postTo('/v1/responses', { model: 'gpt-4.1', ...fields });
    const { body } = native.upstream.requests.findLast(({ path }) => path.endsWith('/responses')) ?? {};
    return { status: response.status, mode: response.headers.get('x-memory-mode'), sent: body };
  };
  const input = [{ role: 'user', content: 'Hi.' }];

  it.each([undefined, 'auto'])('gets the wish for it unchanged, in mode %s', async (memory_strategy) => {
    const context_management = [{ type: 'compaction', compact_threshold: 2_000 }];
    const { sent } = await ask({ input, context_management, memory_strategy });
    expect(sent).toEqual({ model: 'gpt-4.1', input, context_management });
  });

  it('gets the wish of the mode native', async () => {
    const memory_strategy = { mode: 'native', compact_threshold: 2_000 };
    const { mode, sent } = await ask({ input, memory_strategy });
    expect(mode).toBe('native');
    const context_management = [{ type: 'compaction', compact_threshold: 2_000 }];
    expect(sent).toEqual({ model: 'gpt-4.1', input, context_management });
  });

  it('gets a compaction_trigger', async () => {
    const triggered = [...input, { type: 'compaction_trigger' }];
    const { status, sent } = await ask({ input: triggered });
    expect([status, sent]).toEqual([200, { model: 'gpt-4.1', input: triggered }]);
  });
});
