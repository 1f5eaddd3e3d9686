/**
 * The seeder, put together with what hashes secrets and passwords of SEED_FILE: before it is ready, a process answers nobody, and all its
 * cores may hash.
 */
import { availableParallelism } from 'node:os'
import type { Config } from '../../config.ts'
import { createClientSecrets } from '../clients/client-secrets.ts'
import { createHashingQueue, THREADS } from '../hashing/hashing-queue.ts'
import { createHashChosen } from '../users/chosen-passwords.ts'
import { djangoPasswords } from '../users/django-passwords.ts'
import { createPasswords, type PasswordRules } from '../users/passwords.ts'
import { createSeeder, type Seeder, type SeederOptions } from './seed.ts'

export interface SeedServices {
  readonly seeder: Seeder
}

export interface SeedServicesOptions extends Omit<
  SeederOptions,
  'issuer' | 'secrets' | 'passwords' | 'hashChosen'
> {
  config: Config
  rules: PasswordRules
}

export function createSeedServices(options: SeedServicesOptions): SeedServices {
  const { config, box, rules, log } = options
  const { issuer, production } = config
  const queue = createHashingQueue(Math.min(availableParallelism(), THREADS))
  const passwords = createPasswords(queue, djangoPasswords, rules)
  return {
    seeder: createSeeder({
      ...options,
      issuer,
      secrets: createClientSecrets(box, queue, rules.argon2id),
      passwords,
      hashChosen: createHashChosen({ passwords, production, log }),
    }),
  }
}
