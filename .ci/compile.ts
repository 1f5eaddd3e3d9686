/**
 * Compiles what `npm ci` has brought and `npm start` reads: the first start is as quick then as all others, and holds no
 * compiler for TypeScript, which is 15 MiB. Node keeps it where NODE_COMPILE_CACHE says, by its own version and flags.
 */
await import('../src/serving/serve.ts')
await import('../src/serving/welcome.ts')
await import('../src/serving/sample-app.ts')
await import('../src/server.ts')
await import('../src/serving/prepare.ts')
await import('../src/store/migrator.ts')
// It runs a command: one that only says what there is.
process.argv.splice(2, Infinity, 'help')
await import('../src/main.ts')
