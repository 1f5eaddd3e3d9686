/**
 * What a passkey is called before its user names it: by the kind of its authenticator (AAGUID), else by how that is reached. The names are those of
 * github.com/passkeydeveloper/passkey-authenticator-aaguids (commit 47b6f84), for those that most people have. They are for recognizing
 * alone: without attestation nobody vouches for the kind.
 */
import { message, type Words } from '../../src/protocol/message.ts'

const NAMES: ReadonlyMap<string, string> = new Map([
  ['ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4', 'Google Password Manager'],
  ['fbfc3007-154e-4ecc-8c0b-6e020557d7bd', 'Apple Passwords'],
  ['dd4ec289-e01d-41c9-bb89-70fa845d4bf2', 'iCloud Keychain (Managed)'],
  ['08987058-cadc-4b81-b6e1-30de50dcbe96', 'Windows Hello'],
  ['9ddd1817-af5a-4672-a2b9-3e3dd95000a9', 'Windows Hello'],
  ['6028b017-b1d4-4c02-b4b3-afcdafc96bb2', 'Windows Hello'],
  ['d3452668-01fd-4c12-926c-83a4204853aa', 'Microsoft Password Manager'],
  ['53414d53-554e-4700-0000-000000000000', 'Samsung Pass'],
  ['adce0002-35bc-c60a-648b-0b25f1f05503', 'Chrome on Mac'],
  ['771b48fd-d3d4-4f74-9232-fc157ab0507a', 'Edge on Mac'],
  ['b5397666-4885-aa6b-cebf-e52262a439a2', 'Chromium Browser'],
  ['bada5566-a7aa-401f-bd96-45619a55120d', '1Password'],
  ['d548826e-79b4-db40-a3d8-11116f7e8349', 'Bitwarden'],
  ['531126d6-e717-415c-9320-3d9aa6981239', 'Dashlane'],
  ['b78a0a55-6ef8-d246-a042-ba0f6d55050c', 'LastPass'],
  ['0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6', 'Keeper'],
  ['b84e4048-15dc-4dd0-8640-f4f60813c8af', 'NordPass'],
  ['50726f74-6f6e-5061-7373-50726f746f6e', 'Proton Pass'],
  ['f3809540-7f14-49c1-a8b3-8f813b225541', 'Enpass'],
  ['fdb141b2-5d84-443e-8a35-4698c205a502', 'KeePassXC'],
  ['eaecdef2-1c31-5634-8639-f1cbd9c00a08', 'KeePassDX'],
  ['b35a26b2-8f6e-4697-ab1d-d44db4da28c6', 'Zoho Vault'],
  ['de503f9c-21a4-4f76-b4b7-558eb55c6f89', 'Devolutions'],
  ['a10c6dd9-465e-4226-8198-c7c44b91c555', 'Kaspersky Password Manager'],
  ['fa37f553-f9b6-4adb-ac53-8bbb57ebdf0d', 'Norton Password Manager'],
])

/** What is plugged in, or held against a device (Web Authentication §5.8.4). */
const OF_KEYS = new Set(['usb', 'nfc', 'ble', 'smart-card'])

interface Authenticator {
  readonly aaguid: string
  /** How it is reached; none where the browser does not say. */
  readonly transports: readonly string[]
}

/** Browsers tell no kind of a key that is carried along, as there is no attestation: what it is, it says by how it is reached. */
export function kindOf({ aaguid, transports }: Authenticator): Words {
  const isKey = transports.length > 0 && transports.every((one) => OF_KEYS.has(one))
  return NAMES.get(aaguid) ?? (isKey ? message('Security key') : message('Passkey'))
}

/** Of a user who has passkeys of these names already: two of a kind are told apart. */
export function nameFor(kind: string, taken: readonly string[]): string {
  let number = 1
  while (taken.includes(numbered(kind, number))) number++
  return numbered(kind, number)
}

function numbered(kind: string, number: number): string {
  return number === 1 ? kind : `${kind} ${number}`
}
