/** Scopes as people read them: on the consent page, and where they look at what they have allowed. */
import type { OAuth } from '../oauth/index.ts'
import { standardScopes, type ScopeText } from './words.ts'

export interface DescribedScope extends ScopeText {
  name: string
  /** The name of the resource it belongs to; null for what is about the person. */
  resource: string | null
}

/** Without `openid`, which says nothing to people. */
export async function describeScopes(oauth: OAuth, names: Iterable<string>): Promise<DescribedScope[]> {
  const described: DescribedScope[] = []
  for (const name of names) {
    if (name === 'openid') continue
    const { description, resource } = await oauth.findScope(name)
    const owner = resource === null ? null : ((await oauth.findResource(resource))?.name ?? resource)
    const words = standardScopes.get(name) ?? { title: description ?? name, description: null }
    described.push({ name, ...words, resource: owner })
  }
  return described
}
