/** The checks that every store of keys must pass, by plain Node: `node check.js URI TOKEN`. It prints the names of those that held. */
import { keyStoreChecks } from 'latchkey/testing'
import { openKms } from './cloud-kms.ts'

const [uri = '', token = ''] = process.argv.slice(2)
const open = async () => openKms(uri, 'https://login.example', token)
for (const { name, run } of keyStoreChecks({ open, algorithms: ['ES256', 'RS256', 'PS256', 'ES384'] })) {
  await run()
  console.log(name)
}
