/** What hashes secrets and passwords of SEED_FILE: before it is ready, a process answers nobody, and all its cores may hash. */
import { availableParallelism } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { createClientSecrets } from '../clients/client-secrets.ts'
import { createHashingQueue, THREADS } from '../hashing/hashing-queue.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createHashChosen } from '../users/chosen-passwords.ts'
import { djangoPasswords } from '../users/django-passwords.ts'
import { createPasswords, type PasswordRules } from '../users/passwords.ts'
import type { SeederOptions } from './seed.ts'

export interface HashersOptions {
  box: SecretBox
  rules: PasswordRules
  production: boolean
  log: FastifyBaseLogger
}

export function createHashersAtStart({
  box,
  rules,
  production,
  log,
}: HashersOptions): Pick<SeederOptions, 'secrets' | 'passwords' | 'hashChosen'> {
  const queue = createHashingQueue(Math.min(availableParallelism(), THREADS))
  const passwords = createPasswords(queue, djangoPasswords, rules)
  return {
    secrets: createClientSecrets(box, queue, rules.argon2id),
    passwords,
    hashChosen: createHashChosen({ passwords, production, log }),
  }
}
