/** Lists as they are asked for: of one kind of resource by `GET` and `/.search`, and of all kinds by `/.search` alone (RFC 7644 §3.4.2, §3.4.3). */
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Members } from './attributes.ts'
import { assertSchema } from './conditions.ts'
import { scimError } from './errors.ts'
import { countOf, listQueryIn, listResponse, startIndexOf, type List } from './lists.ts'
import { SEARCH_REQUEST } from './messages.ts'
import { queryOf, READ, scimAnswer, type ScimOperation } from './serving.ts'

export function listOperations(path: `/${string}`, list: List): readonly ScimOperation[] {
  return [
    {
      method: 'GET',
      path,
      scope: READ,
      handle: async ({ request, token }) => scimAnswer(await list(queryOf(request), token.clientId)),
    },
    searchOperation(`${path}/.search`, list),
  ]
}

export function searchOperation(path: `/${string}`, list: List): ScimOperation {
  return {
    method: 'POST',
    path,
    scope: READ,
    async handle({ body, token }) {
      assertSchema(body, SEARCH_REQUEST)
      return scimAnswer(await list(listQueryIn(body), token.clientId))
    },
  }
}

/** One list after the other, each in its own order. A filter about what one of them has not finds nothing there. */
export function listOfAll(lists: readonly List[]): List {
  return async ({ sortBy: _sortBy, sortOrder: _sortOrder, ...query }, clientId) => {
    if (query.cursor !== undefined)
      throw scimError('invalidCursor', 'what is of several kinds is listed by startIndex')
    const [startIndex, count] = [startIndexOf(query), countOf(query)]
    const found: Members[] = []
    const refusals: unknown[] = []
    let total = 0
    for (const list of lists) {
      const place = { startIndex: String(startIndex - total), count: String(count - found.length) }
      const listed = await list({ ...query, ...place }, clientId).catch((error: unknown) => {
        if (!(error instanceof OAuthError) || error.code !== 'invalidFilter') throw error
        refusals.push(error)
        return { totalResults: 0, Resources: [] }
      })
      total += listed.totalResults as number
      found.push(...(listed.Resources as readonly Members[]))
    }
    if (refusals.length === lists.length) throw refusals[0]
    return listResponse({ totalResults: total, startIndex }, found)
  }
}
