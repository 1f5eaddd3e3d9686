/** What may be chosen of how a client's answers are signed and encrypted: of each kind that somebody makes here. */
import {
  CONTENT_ENCRYPTIONS,
  DEFAULT_CONTENT_ENCRYPTION,
  type Encryptable,
  ENCRYPTABLES,
  KEY_ENCRYPTIONS,
} from '../../../src/protocol/encryption.ts'
import type { Kernel } from '../../../src/services/kernel.ts'
import type { Served } from './client-fields.ts'

/** By which ID tokens, JARM and introspection are signed where nothing is registered. */
const USUAL = 'RS256'

/** By the names of the members. What is so without being chosen is left out. */
export function answerChoices({
  doors,
  keys,
  policies,
}: Pick<Kernel, 'doors' | 'keys' | 'policies'>): Served {
  const userinfo = doors.all('representation').some(({ of }) => of === '/userinfo')
  const others = keys.algorithms.filter((algorithm) => algorithm !== USUAL)
  const ofPlugins = {
    authorization_signed_response_alg: others,
    introspection_signed_response_alg: others,
    ...Object.assign({}, ...ENCRYPTABLES.map(encryptionChoices)),
  } as Served
  const members = new Set(policies.schemas().flatMap(({ properties }) => Object.keys(properties)))
  return {
    id_token_signed_response_alg: others,
    userinfo_signed_response_alg: userinfo ? keys.algorithms : [],
    ...Object.fromEntries(Object.entries(ofPlugins).filter(([member]) => members.has(member))),
  }
}

function encryptionChoices(of: Encryptable): Served {
  return {
    [`${of}_encrypted_response_alg`]: KEY_ENCRYPTIONS,
    [`${of}_encrypted_response_enc`]: CONTENT_ENCRYPTIONS.filter((one) => one !== DEFAULT_CONTENT_ENCRYPTION),
  }
}
