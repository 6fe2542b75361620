/** The version of Precis, as in package.json. */
export const VERSION = '0.10.0';
