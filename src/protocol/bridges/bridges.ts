/** The bridges, by the API that they lead to. */
import type { Bridge } from './bridge.ts';
import { responsesBridge } from './responses/body.ts';

export const BRIDGES = { responses: responsesBridge } as const satisfies Record<string, Bridge>;
