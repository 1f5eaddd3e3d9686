/** What has members that are for others to know: a document, metadata, facts of a plugin. */

export type Bag = Readonly<Record<string, unknown>>
