/** `trusted-issuer create|list|show|update|delete`: those whose JWTs are good here as grants, and as proofs of clients. */
import type { Command } from 'commander'
import {
  findOnWire,
  listOnWire,
  type TrustedIssuerOnWire,
} from '../services/trusted-issuers/trusted-issuer-wire.ts'
import { recordCommand } from './record.ts'

export function trustedIssuerCommand(): Command {
  return recordCommand<TrustedIssuerOnWire>({
    name: 'trusted-issuer',
    description: 'trusted issuers: others whose JWTs are good here',
    ending: 'remove a trusted issuer: what came of its JWTs ends',
    identifier: 'issuer',
    members: [
      { name: 'jwks_uri', value: 'uri', text: 'where its public keys are' },
      { name: 'jwks', value: 'text', text: 'its public keys, as JSON' },
      {
        name: 'algorithms',
        value: 'list',
        text: 'JWS algorithms that are taken; by default all of public keys',
      },
      { name: 'audiences', value: 'list', text: 'what its JWTs have in aud; by default this server' },
      { name: 'subject', value: 'text', text: 'link, email, username or client: who its subject is here' },
      {
        name: 'subject_claim',
        value: 'text',
        text: 'the claim that says who it is; by default sub or email',
      },
      { name: 'scopes', value: 'list', text: 'what its JWTs may give at most; nothing by default' },
      { name: 'resources', value: 'list', text: 'for which resources; by default those of the scopes' },
      { name: 'clients', value: 'list', text: 'who may use its JWTs as grants' },
      { name: 'claims', value: 'pairs', text: 'what claims must say, such as "repository=org/app"' },
      { name: 'max_age', value: 'seconds', text: 'how old a JWT may be; 3600 by default' },
      { name: 'reusable', value: 'yes', text: 'true: a JWT may be used more than once, as workloads do' },
      { name: 'disabled', value: 'yes', text: 'true: nothing of it is good' },
    ],
    toLine: ({ issuer, disabled, last_used: used }) =>
      [issuer, disabled === true ? 'disabled' : '', used === undefined ? 'not used yet' : `last used ${used}`]
        .filter((one) => one !== '')
        .join('  '),
    find: async ({ trustedIssuers }, issuer) => findOnWire(trustedIssuers, issuer),
    list: async ({ trustedIssuers }, options) => listOnWire(trustedIssuers, options),
    named: ({ clients, scopes, resources }) => ({ clients, scopes, resources }),
    save: async ({ trustedIssuers }, members, options) => trustedIssuers.save(members, options),
    delete: async ({ trustedIssuers }, issuer) => trustedIssuers.delete(issuer),
  })
}
