import { expect, it } from 'vitest';
import { COMPACT_OLD_TURNS, conversationOf, linesAbout } from '../../support/conversations/conversations.ts';
import { deploy } from '../../support/deployment/deployment.ts';
import type { WithMemory } from '../../support/deployment/memory-report.ts';
import { overProtocols } from '../../support/deployment/protocol.ts';

const deployment = deploy();

const alice = { authorization: 'Bearer sk-alice-has-a-key-of-her-own-1' };
const bob = { authorization: 'Bearer sk-bob-has-another-key-of-his-2' };

/** Sends the outputs to be compacted. Returns the refs that the upstream saw. */
async function store(
  outputs: string[],
  headers: Record<string, string> = alice,
  more: object = {},
): Promise<string[]> {
  const messages = conversationOf(outputs);
  const memory = { memory_strategy: COMPACT_OLD_TURNS, memory_report: true };
  const body = { model: 'gpt-4.1-mini', messages, ...memory, ...more };
  const answer = (await (await deployment.chat(body, headers)).json()) as WithMemory;
  const seen = deployment.lastChat().rawBody.toString();
  return (answer.memory?.refs ?? []).flatMap(({ ref }) => (seen.includes(ref) ? [ref] : []));
}

function ask(path: string, headers: Record<string, string> = alice, method = 'GET'): Promise<Response> {
  return deployment.fetch(path, { method, headers });
}

async function outcomeOf(response: Response): Promise<unknown[]> {
  const { error } = (await response.json()) as { error?: { code: string; param: string | null } };
  return [response.status, error?.code, error?.param];
}

interface Page {
  data: { id: string; object?: string; stored_bytes?: number }[];
  has_more: boolean;
  cursor: string | null;
}

overProtocols('a ref', deployment, () => {
  it('is found by its owner alone, and for anybody else is not there', async () => {
    const [ref = ''] = await store([linesAbout('ownership')]);

    expect((await ask(`/v1/refs/${ref}`)).status).toBe(200);
    expect(await outcomeOf(await ask(`/v1/refs/${ref}`, bob))).toEqual([404, 'ref_not_found', 'ref']);
    expect(await outcomeOf(await ask(`/v1/refs/${ref}`, bob, 'DELETE'))).toEqual([
      404,
      'ref_not_found',
      'ref',
    ]);
    expect((await ask(`/v1/refs/${ref}`)).status).toBe(200);
  });

  it('has another name for another tenant, though the content is the same', async () => {
    const [ofAlice] = await store([linesAbout('equal contents')], alice);
    const [ofBob] = await store([linesAbout('equal contents')], bob);

    expect(ofAlice).toMatch(/^ref_[a-z2-7]{26}$/);
    expect(ofBob).toMatch(/^ref_[a-z2-7]{26}$/);
    expect(ofBob).not.toBe(ofAlice);
  });

  it('has one name for one content, wherever it is', async () => {
    const [first, second] = await store([linesAbout('a content that comes twice'), linesAbout('another')]);
    const [again] = await store([linesAbout('a content that comes twice')]);

    expect(again).toBe(first);
    expect(second).not.toBe(first);
  });

  it('can be neither forged nor malformed', async () => {
    const [ref = ''] = await store([linesAbout('forgery')]);
    const forged = `${ref.slice(0, -1)}${ref.endsWith('a') ? 'b' : 'a'}`;

    expect(await outcomeOf(await ask(`/v1/refs/${forged}`))).toEqual([404, 'ref_not_found', 'ref']);
    expect(await outcomeOf(await ask('/v1/refs/ref_short'))).toEqual([400, 'invalid_ref', 'ref']);
    expect(await outcomeOf(await ask(`/v1/refs/${ref.toUpperCase()}`))).toEqual([400, 'invalid_ref', 'ref']);
    expect(await outcomeOf(await ask(`/v1/refs/..%2f${ref}`))).toEqual([400, 'invalid_ref', 'ref']);
  });

  it('needs a key, and one that is no placeholder', async () => {
    const [ref = ''] = await store([linesAbout('keys')]);
    const bare = await fetch(`${deployment.url}/v1/refs/${ref}`);

    expect(await outcomeOf(bare)).toEqual([401, 'invalid_api_key', null]);
    const placeholder = await ask(`/v1/refs/${ref}`, { authorization: 'Bearer ollama' });
    expect(await outcomeOf(placeholder)).toEqual([401, 'invalid_api_key', null]);
    expect((await fetch(`${deployment.url}/v1/refs`)).status).toBe(401);
  });

  it('takes no other method than GET, HEAD and DELETE', async () => {
    const [ref = ''] = await store([linesAbout('methods')]);

    const response = await ask(`/v1/refs/${ref}`, alice, 'PUT');

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, DELETE');
    expect(deployment.upstream.requests.filter(({ path }) => path.includes('/refs'))).toEqual([]);
  });
});

overProtocols('a ref that is deleted', deployment, () => {
  it('is gone, and the others stay', async () => {
    const [first = '', second = ''] = await store([linesAbout('deletion'), linesAbout('its neighbour')]);

    const deleted = await ask(`/v1/refs/${first}`, alice, 'DELETE');

    expect(deleted.status).toBe(200);
    expect(await deleted.json()).toMatchObject({ id: first, deleted: true });
    expect(await outcomeOf(await ask(`/v1/refs/${first}`))).toEqual([404, 'ref_not_found', 'ref']);
    expect((await ask(`/v1/refs/${first}`, alice, 'HEAD')).status).toBe(404);
    expect(await outcomeOf(await ask(`/v1/refs/${first}`, alice, 'DELETE'))).toEqual([
      404,
      'ref_not_found',
      'ref',
    ]);
    expect((await ask(`/v1/refs/${second}`)).status).toBe(200);
  });

  it('is written again, with the others, when the conversation comes again', async () => {
    const outputs = ['return', 'the second of return', 'the third of return'].map((topic) =>
      linesAbout(topic),
    );
    const written = await store(outputs);
    await ask(`/v1/refs/${written[1]}`, alice, 'DELETE');

    const again = await store(outputs);

    expect(again).toEqual(written);
    const kept = await Promise.all(again.map(async (ref) => (await ask(`/v1/refs/${ref}`)).text()));
    expect(kept).toEqual(outputs);
  });
});

overProtocols('GET /v1/refs', deployment, () => {
  const carol = { authorization: 'Bearer sk-carol-lists-only-her-own-refs' };

  it("lists the tenant's refs in pages, in the order of their names", async () => {
    const outputs = [...Array(7).keys()].map((at) => linesAbout(`list ${at}`));
    const stored = await store(outputs, carol);

    const listed: string[] = [];
    let query = 'limit=3';
    for (let pages = 0; pages < 3; pages++) {
      const page = (await (await ask(`/v1/refs?${query}`, carol)).json()) as Page;
      listed.push(...page.data.map(({ id }) => id));
      expect(page.has_more).toBe(pages < 2);
      expect(page.cursor).toBe(pages < 2 ? listed.at(-1) : null);
      query = `limit=3&cursor=${page.cursor}`;
    }

    expect(stored).toHaveLength(7);
    expect(listed).toEqual(stored.toSorted());
  });

  it('says of each ref what HEAD says of it: tool, call, conversation, tokens and time', async () => {
    const dave = { authorization: 'Bearer sk-dave-asks-for-facts-about-refs' };
    const text = linesAbout('facts');
    const [ref = ''] = await store([text], dave, { conversation_id: 'fäcts' });

    const { data } = (await (await ask('/v1/refs', dave)).json()) as Page;
    const head = await ask(`/v1/refs/${ref}`, dave, 'HEAD');

    const { id, object, stored_bytes, ...facts } = data.find((one) => one.id === ref) ?? { id: '' };
    expect(facts).toEqual({
      tool_name: expect.stringMatching(/^\w+$/),
      tool_call_id: expect.stringMatching(/^call_/),
      conversation: 'fäcts',
      tokens: expect.any(Number),
      bytes: Buffer.byteLength(text),
      created_at: expect.any(Number),
    });
    expect(stored_bytes).toBeGreaterThan(text.length);
    expect(JSON.parse(head.headers.get('x-memory-ref') ?? '')).toEqual(facts);
    expect(head.headers.get('x-memory-ref')).toContain('f\\u00e4cts');
    expect((await ask(`/v1/refs/${ref}`, dave)).headers.get('x-memory-ref')).toBe(
      head.headers.get('x-memory-ref'),
    );
  });

  it('is empty for a tenant that has stored nothing', async () => {
    const nobody = { authorization: 'Bearer sk-a-key-that-has-stored-nothing' };

    expect(await (await ask('/v1/refs', nobody)).json()).toMatchObject({
      data: [],
      has_more: false,
      cursor: null,
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=many', 'limit'],
    ['cursor=page-2', 'cursor'],
  ])('refuses %s and names the parameter', async (query, param) => {
    expect(await outcomeOf(await ask(`/v1/refs?${query}`, carol))).toEqual([400, 'invalid_value', param]);
  });
});
