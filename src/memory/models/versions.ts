/** What may follow a model's name: dates of versions, and words for the newest one. */
export const VERSION = /^(-(\d{4}-\d{2}-\d{2}|\d{8}|latest|preview|0))*$/;
