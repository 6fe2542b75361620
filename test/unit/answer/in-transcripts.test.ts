import { describe, expect, it } from 'vitest';
import { findInTranscripts } from '../../../src/answer/in-transcripts.ts';

const refOf = (n: number) => `ref_${String.fromCharCode(97 + n).repeat(26)}`;

/** A transcript that names the one before it. */
function transcript(n: number, body: string): string {
  const link = n === 0 ? '' : `What stood before them is kept under ${refOf(n - 1)}.\n`;
  return `Messages ${n}-${n} of a conversation, as they came.\n${link}\n### ${n} tool search (call_${n})\n${body}\n`;
}

function shelf(contents: ReadonlyMap<string, string>) {
  const read: string[] = [];
  const open = async (ref: string) => {
    read.push(ref);
    return contents.get(ref);
  };
  return { read, open };
}

describe('outputs in transcripts', () => {
  const chain = (length: number) =>
    new Map(Array.from({ length }, (_, n) => [refOf(n), transcript(n, `The output ${n}.`)]));

  it('are found in the transcript that holds them, through those after it', async () => {
    const { read, open } = shelf(chain(4));
    const found = await findInTranscripts(['The output 1.', 'The output 3.'], [refOf(3)], open);
    expect([...found]).toEqual([
      ['The output 3.', refOf(3)],
      ['The output 1.', refOf(1)],
    ]);
    expect(read).toEqual([refOf(3), refOf(2), refOf(1)]);
  });

  it('are not looked for where a link is not in the head', async () => {
    const body = `What stood before them is kept under ${refOf(0)}.`;
    const { read, open } = shelf(new Map([[refOf(1), transcript(0, body)], ...chain(1)]));
    expect([...(await findInTranscripts(['The output 0.'], [refOf(1)], open))]).toEqual([]);
    expect(read).toEqual([refOf(1)]);
  });

  it('are given up after eight transcripts, and where one is gone or names itself', async () => {
    const long = shelf(chain(12));
    expect((await findInTranscripts(['The output 0.'], [refOf(11)], long.open)).size).toBe(0);
    expect(long.read).toHaveLength(8);
    const gone = shelf(new Map([[refOf(2), transcript(2, 'x')]]));
    expect((await findInTranscripts(['The output 0.'], [refOf(2)], gone.open)).size).toBe(0);
    const own = shelf(new Map([[refOf(0), transcript(1, 'x')]]));
    expect((await findInTranscripts(['The output 0.'], [refOf(0)], own.open)).size).toBe(0);
    expect(own.read).toHaveLength(1);
  });

  it('of no text are nowhere, and nothing is read for them', async () => {
    const { read, open } = shelf(chain(1));
    expect((await findInTranscripts(['', ' \n'], [refOf(0)], open)).size).toBe(0);
    expect(read).toEqual([]);
  });
});
