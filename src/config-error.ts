/** An invalid configuration. The message names the variable and never holds its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
