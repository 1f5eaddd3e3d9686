/** What was read at the address of a client that is known by its metadata document, shared by the processes for a while. */
import { defineEntity, p } from './define.ts'

const ClientDocumentSchema = defineEntity({
  name: 'ClientDocument',
  tableName: 'client_documents',
  properties: {
    /** The address. */
    clientId: p.text().primary(),
    document: p.json<Record<string, unknown>>(),
    readAt: p.datetime(),
    /** Until then it is not asked for again. */
    freshUntil: p.datetime(),
    /** Until then it serves while its host does not answer, as the answer itself allows. */
    staleUntil: p.datetime(),
    /** Until then it serves what goes on already, whatever is at its address. */
    keptUntil: p.datetime().index(),
  },
})

export class ClientDocument extends ClientDocumentSchema.class {}
ClientDocumentSchema.setClass(ClientDocument)
