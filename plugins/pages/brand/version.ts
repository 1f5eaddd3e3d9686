/**
 * The version of what templates of an operator rest on: what ours are given, and what each has for others (`promises.ts`). It goes up when
 * one of theirs would have to change; `tests/plugins/pages/template-version.test.ts` tells when.
 */
export const TEMPLATES_VERSION = 1
