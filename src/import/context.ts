/** What bringing one record in knows, and what comes of it. */
import type { ClientRegistry } from '../services/clients/client-registry.ts'
import type { UserRegistry } from '../services/users/user-registry.ts'

export interface ImportOptions {
  dryRun: boolean
  /** Those who are here already get what the file says. */
  update: boolean
  /** Superusers there are administrators here. */
  admins: boolean
}

export interface ImportContext {
  clients: ClientRegistry
  users: UserRegistry
  options: ImportOptions
  responseTypes: Map<string, string>
}

export interface Applied {
  /** What is done; in a dry run, what would be. */
  action: 'create' | 'update' | 'keep' | 'refuse'
  /** What the operator is to know; for a refused record, the field and the reason. */
  notes: string[]
}
