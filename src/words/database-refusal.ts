/** What an operator does where the database lets nobody in, in a clause without its full stop; by what PostgreSQL, TLS or the driver said. */
import { sqlState } from '../store/failures.ts'

type Remedy = readonly [codes: RegExp, remedy: string]

/** PostgreSQL's own (appendix A); 28000 is what `pg_hba.conf` refuses. */
const REFUSED: readonly Remedy[] = [
  [/^28P01$/, 'mend the user or the password in DATABASE_URL'],
  [/^28/, 'mend the user in DATABASE_URL, or let this machine in by pg_hba.conf there'],
  [/^3D000$/, 'create the database, or mend its name in DATABASE_URL'],
  [/^42501$/, 'grant our role the use of its schema and tables'],
]

/** Of Node's TLS. */
const UNTRUSTED: readonly Remedy[] = [
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'let DATABASE_URL name the server as its certificate does, or have one made for this name',
  ],
  [
    /^(?:CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    'renew the certificate of the server, and see that both clocks are right',
  ],
  [
    /SELF_SIGNED_CERT|^UNABLE_TO_(?:VERIFY|GET_ISSUER)/,
    'add sslrootcert=FILE to DATABASE_URL, the certificate of the authority that signed the one of the server, in PEM',
  ],
  [
    /^(?:CERT|CRL|ERROR_IN|HOSTNAME|INVALID|PATH_LENGTH|UNABLE_TO)_/,
    'have a certificate made for the server that is good for servers, and for this name',
  ],
  [
    /^ERR_(?:SSL|TLS|OSSL)_/,
    'see that the server speaks TLS, and that sslrootcert, sslcert and sslkey in DATABASE_URL name files in PEM',
  ],
]

/** The driver's, which have no code. */
const SAID: readonly Remedy[] = [
  [/no encryption|SSL off/, 'add sslmode=verify-full to DATABASE_URL: the server wants TLS'],
  [
    /does not support SSL/,
    'turn TLS on there, or take sslmode from DATABASE_URL where no network is in between',
  ],
  [/^SASL: .*client password/, 'put the password into DATABASE_URL'],
]

/** Null for what is no refusal: a database that is away, or a fault of ours. */
export function remedyOf(error: Error): string | null {
  const code = sqlState(error) ?? ''
  const said = SAID.find(([words]) => words.test(error.message))
  const coded = [...REFUSED, ...UNTRUSTED].find(([codes]) => codes.test(code))
  return (said ?? coded)?.[1] ?? null
}
