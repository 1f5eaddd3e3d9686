/** What its page says in German and Spanish: for each language that the server speaks, an English text and that one. */
import type { Catalogue, OAuth } from 'latchkey'

const GERMAN: Catalogue = {
  'You will be shown a code. Whoever types it gets this access: tell it to nobody, and type it into your own device.':
    'Sie bekommen einen Code zu sehen. Wer ihn eingibt, erhält diesen Zugriff: Sagen Sie ihn niemandem, und geben Sie ihn an Ihrem eigenen Gerät ein.',
  'Nothing was allowed': 'Es wurde nichts erlaubt',
  'You may close this page.': 'Sie können diese Seite schließen.',
  'Your code': 'Ihr Code',
  'Type it into your device within five minutes. It is good once.':
    'Geben Sie ihn innerhalb von fünf Minuten an Ihrem Gerät ein. Er gilt einmal.',
}
const SPANISH: Catalogue = {
  'You will be shown a code. Whoever types it gets this access: tell it to nobody, and type it into your own device.':
    'Verá un código. Quien lo introduzca obtiene este acceso: no se lo diga a nadie e introdúzcalo en su propio dispositivo.',
  'Nothing was allowed': 'No se ha permitido nada',
  'You may close this page.': 'Puede cerrar esta página.',
  'Your code': 'Su código',
  'Type it into your device within five minutes. It is good once.':
    'Introdúzcalo en su dispositivo antes de cinco minutos. Sirve una vez.',
}

export function addWords({ languages }: OAuth): void {
  languages.add('de', GERMAN)
  languages.add('es', SPANISH)
}
