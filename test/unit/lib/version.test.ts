import { expect, it } from 'vitest';
import own from '../../../package.json' with { type: 'json' };
import { VERSION } from '../../../src/lib/version.ts';

it("the version is the package's", () => {
  expect(VERSION).toBe(own.version);
});
