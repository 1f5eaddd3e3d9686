// Instants in the time zone of this device: the server has said them in UTC, since it does not know where the reader is.
const { lang } = document.documentElement
const formatted = (time, options) =>
  new Intl.DateTimeFormat(lang === 'en' ? 'en-GB' : lang, {
    ...options,
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  }).format(new Date(time.dateTime))
for (const time of document.querySelectorAll('time[datetime]')) {
  const said = time.textContent
  // Of this moment, where no day is named.
  if (/^\d\d:\d\d:\d\d UTC$/.test(said)) time.textContent = formatted(time, { second: '2-digit' })
  else if (/\bUTC$/.test(said))
    time.textContent = formatted(time, { day: 'numeric', month: 'long', year: 'numeric' })
}
