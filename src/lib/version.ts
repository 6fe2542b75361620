/** The version of Precis, as in package.json. */
export const VERSION = '0.9.0';
