/**
 * The configuration can't be used; the message says which variable is wrong and never holds a
 * value.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
