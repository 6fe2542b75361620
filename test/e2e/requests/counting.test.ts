/** How tokens are counted: by the model's family, the deployer's factors, or the strategy. */
import { expect, it } from 'vitest';
import { toolTalk } from '../../support/conversations/tool-talk.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy({ vars: { TOKEN_FACTORS: '[{"family":"my-model","factor":2}]' } });

overProtocols('the tokens of a request', deployment, () => {
  const messages = toolTalk('apples', 12);

  const tokensOf = async (model: string, fields: object = {}, stream = false): Promise<number> => {
    const memory_strategy = { mode: 'compact', token_budget: 1_000_000, ...fields };
    const { memory } = await deployment.ask({ model, stream, memory_strategy, messages });
    return memory.tokens?.before ?? Number.NaN;
  };

  it('are the model’s family’s, in streams too', async () => {
    const plain = await tokensOf('gpt-4.1');
    for (const stream of [false, true]) {
      const claude = await tokensOf('claude-sonnet-4-5', {}, stream);
      expect(claude / plain).toBeGreaterThan(1.2);
      expect(claude / plain).toBeLessThan(1.3);
    }
  });

  it('follow the deployer’s factor', async () => {
    const ratio = (await tokensOf('my-model-7b')) / (await tokensOf('gpt-4.1'));
    expect(ratio).toBeGreaterThan(1.8);
    expect(ratio).toBeLessThanOrEqual(2);
  });

  it('are counted as the strategy says', async () => {
    const plain = await tokensOf('gpt-4.1');
    expect(await tokensOf('my-model-7b', { token_estimator: 'o200k' })).toBe(plain);
    expect(await tokensOf('gpt-4.1', { token_estimator: 'cl100k' })).toBe(await tokensOf('gpt-4-turbo'));
    expect(await tokensOf('my-model-7b', { token_estimator: 'chars/4' })).not.toBe(plain);
    expect(await tokensOf('gpt-4.1', { token_estimator: null })).toBe(plain);
  });

  it('decide whether a budget is met, for the same conversation and the same key', async () => {
    const budget = Math.round((await tokensOf('gpt-4.1')) * 1.5);
    const applied = async (model: string): Promise<string[]> => {
      const memory_strategy = { mode: 'compact', token_budget: budget };
      const { memory } = await deployment.ask({ model, memory_strategy, messages });
      return memory.applied_edits.map(({ type }) => type);
    };
    expect(await applied('gpt-4.1')).toEqual([]);
    expect(await applied('my-model-7b')).toEqual(['compact']);
    expect(await applied('gpt-4.1')).toEqual([]);
  });

  it('are refused an estimator that is not known', async () => {
    const memory_strategy = { mode: 'compact', token_estimator: 'words' };
    const response = await deployment.chat({ model: 'gpt-4.1', memory_strategy, messages });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    expect(error).toMatchObject({
      code: 'invalid_memory_strategy',
      param: 'memory_strategy.token_estimator',
    });
  });
});
