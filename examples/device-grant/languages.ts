/** What its pages say in German and Spanish: for each language that the server speaks, an English text and that one. */
import type { Catalogue, OAuth } from 'latchkey'

const GERMAN: Catalogue = {
  'Connect a device': 'Gerät verbinden',
  'Go on only if this very code is on the screen of your device, now.':
    'Fahren Sie nur fort, wenn genau dieser Code jetzt auf dem Bildschirm Ihres Geräts steht.',
  'Enter the code that your device shows.': 'Geben Sie den Code ein, den Ihr Gerät anzeigt.',
  'Eight letters, such as BCDF-GHJK.': 'Acht Buchstaben, etwa BCDF-GHJK.',
  'Nobody needs to send you a code: it comes from a device in front of you. If it came by mail, chat or telephone, close this page.':
    'Niemand muss Ihnen einen Code schicken: Er kommt von einem Gerät, das vor Ihnen steht. Kam er per Mail, Chat oder Telefon, schließen Sie diese Seite.',
  'That code is not known here, has been used, or is too old. Check it, or start again on the device.':
    'Dieser Code ist hier nicht bekannt, wurde schon verwendet oder ist zu alt. Prüfen Sie ihn, oder beginnen Sie auf dem Gerät von vorn.',
  'Did you start this yourself? A device at {address} asked {minutes, plural, =0 {a moment ago} one {# minute ago} other {# minutes ago}}, and it will be let in, wherever it is. Deny if somebody sent you the code or the link.':
    'Haben Sie das selbst begonnen? Ein Gerät mit der Adresse {address} hat {minutes, plural, =0 {gerade eben} one {vor # Minute} other {vor # Minuten}} angefragt und erhält Zugang, wo auch immer es steht. Lehnen Sie ab, wenn Ihnen jemand den Code oder den Link geschickt hat.',
  'Device connected': 'Gerät verbunden',
  'Device not connected': 'Gerät nicht verbunden',
  'You can go back to your device': 'Sie können zu Ihrem Gerät zurückkehren',
  'It will go on by itself in a moment. You may close this page.':
    'Dort geht es gleich von selbst weiter. Sie können diese Seite schließen.',
  'Nothing was allowed': 'Es wurde nichts erlaubt',
  'The device gets no access to your account. You may close this page.':
    'Das Gerät erhält keinen Zugriff auf Ihr Konto. Sie können diese Seite schließen.',
}
const SPANISH: Catalogue = {
  'Connect a device': 'Conectar un dispositivo',
  'Go on only if this very code is on the screen of your device, now.':
    'Continúe solo si este mismo código está ahora en la pantalla de su dispositivo.',
  'Enter the code that your device shows.': 'Introduzca el código que muestra su dispositivo.',
  'Eight letters, such as BCDF-GHJK.': 'Ocho letras, como BCDF-GHJK.',
  'Nobody needs to send you a code: it comes from a device in front of you. If it came by mail, chat or telephone, close this page.':
    'Nadie tiene que enviarle un código: viene de un dispositivo que tiene delante. Si le llegó por correo, chat o teléfono, cierre esta página.',
  'That code is not known here, has been used, or is too old. Check it, or start again on the device.':
    'Ese código no se conoce aquí, ya se usó o es demasiado antiguo. Compruébelo o empiece de nuevo en el dispositivo.',
  'Did you start this yourself? A device at {address} asked {minutes, plural, =0 {a moment ago} one {# minute ago} other {# minutes ago}}, and it will be let in, wherever it is. Deny if somebody sent you the code or the link.':
    '¿Ha empezado esto usted? Un dispositivo con la dirección {address} lo ha pedido {minutes, plural, =0 {hace un momento} one {hace # minuto} other {hace # minutos}} y tendrá acceso, esté donde esté. Rechácelo si alguien le envió el código o el enlace.',
  'Device connected': 'Dispositivo conectado',
  'Device not connected': 'Dispositivo no conectado',
  'You can go back to your device': 'Puede volver a su dispositivo',
  'It will go on by itself in a moment. You may close this page.':
    'Seguirá solo en un momento. Puede cerrar esta página.',
  'Nothing was allowed': 'No se ha permitido nada',
  'The device gets no access to your account. You may close this page.':
    'El dispositivo no obtiene acceso a su cuenta. Puede cerrar esta página.',
}

export function addWords({ languages }: OAuth): void {
  languages.add('de', GERMAN)
  languages.add('es', SPANISH)
}
