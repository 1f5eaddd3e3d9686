/** The list of entities that make up the schema, for MikroORM and its migrations. */
import { AccessToken, RevokedToken } from './access-token.ts'
import { Artifact } from './artifact.ts'
import { Authorization } from './authorization.ts'
import { Change } from './change.ts'
import { Client, ClientSecret } from './client.ts'
import { Resource, Scope } from './resource.ts'
import { SigningKey } from './signing-key.ts'

export const entities = [
  Client, ClientSecret, Resource, Scope, SigningKey,
  Authorization, AccessToken, RevokedToken, Artifact, Change,
] // prettier-ignore
