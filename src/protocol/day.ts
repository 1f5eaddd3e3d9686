/** Days of the calendar, as ISO 8601 writes them. */

/** Whether the text is a day that there is, such as `2026-01-31`. */
export function isDay(text: string): boolean {
  const instant = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  // Date.parse takes the 31st of any month.
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text)
}
