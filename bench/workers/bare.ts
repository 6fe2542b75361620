/**
 * A Worker that only forwards, as a baseline for Precis: the cost of any proxy on this platform.
 */
import { forwardTo } from './forward-to.ts';

export { ConversationMemory, Metrics, TenantMemory, UserMemory } from './bound-classes.ts';

export default forwardTo((url, { method, headers, body }) => fetch(url, { method, headers, body }));
