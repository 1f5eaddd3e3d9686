// Whom PostgreSQL runs as: it refuses root, so a root server borrows an unprivileged account; everybody else stays as they are.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'

/** `uid` and `gid` are set only where we are root and have to become somebody else. */
export interface Account {
  name: string
  uid?: number
  gid?: number
}

/** Nothing of our own environment reaches PostgreSQL: PG* variables would redirect it, and TZ spares initdb a slow search. */
export const environment = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', TZ: 'UTC', LC_ALL: 'C' }

/** @throws Error when no account that PostgreSQL would accept exists on this machine */
export async function chooseAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return { name: ownName() }
  const accounts = await readAccounts()
  const account =
    accounts.find(({ name }) => name === 'postgres') ??
    accounts.find(({ name, uid }) => name === 'nobody' && uid > 0) ??
    accounts.find(({ uid }) => uid > 0)
  if (!account)
    throw new Error('PostgreSQL refuses to run as root and /etc/passwd has no other user: set DATABASE_URL.')
  return account
}

/** The account that owns an existing cluster: PostgreSQL accepts no other. */
export async function accountOfOwner(uid: number, gid: number): Promise<Account> {
  const known = (await readAccounts()).find((account) => account.uid === uid)
  return { name: known?.name ?? `uid ${uid}`, uid, gid: known?.gid ?? gid }
}

/**
 * Runs a program to its end under the account, from `/`, since our own directory may be closed to it.
 * Never throws: `status` is -1 when it could not be started.
 */
export function run(
  account: Account,
  file: string,
  args: string[],
): Promise<{ status: number; output: string }> {
  const options = { ...identity(account), cwd: '/', env: environment, maxBuffer: 1 << 20 }
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const status = error ? (typeof error.code === 'number' ? error.code : -1) : 0
      const reason = status === -1 ? (error?.message ?? '') : ''
      resolve({ status, output: `${stdout}${stderr}${reason}`.trim() })
    })
  })
}

/** The options of `child_process` that make a child run as the account. */
export function identity({ uid, gid }: Account): { uid?: number; gid?: number } {
  return uid === undefined || gid === undefined ? {} : { uid, gid }
}

async function readAccounts(): Promise<Required<Account>[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  return lines
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}

function ownName(): string {
  try {
    return userInfo().username
  } catch (cause) {
    const sentence = `PostgreSQL needs a name for user ${process.getuid?.()}: add it to /etc/passwd or set DATABASE_URL.`
    throw new Error(sentence, { cause })
  }
}
