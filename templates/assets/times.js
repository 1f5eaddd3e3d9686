// Instants in the time zone of this device: the server has said them in UTC, since it does not know where the reader is.
const format = new Intl.DateTimeFormat(
  document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang,
  {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  },
)
for (const time of document.querySelectorAll('time[datetime]'))
  if (/\bUTC$/.test(time.textContent)) time.textContent = format.format(new Date(time.dateTime))
