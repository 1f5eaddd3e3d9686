// Counts the seconds down until another try is looked at; without it, the page says the time of day.
const { dataset: labels, parentElement: place } = document.currentScript
// In a copy of the sign-in page that is older than the others, the script stands beside the form.
const counter = place.querySelector('[role="timer"]')
const box = counter.closest('[role="alert"]')
const waiting = document.querySelector(`[aria-describedby~="${box.id}"]`)
const button = waiting.type === 'submit' ? waiting : waiting.form.querySelector('.primary')
const end = performance.now() + Number(counter.textContent) * 1000
/** Seconds: nobody counts more, and the time of day is what they go by. */
const MANY = 90

function count() {
  const seconds = Math.ceil((end - performance.now()) / 1000)
  if (seconds <= 0) {
    clearInterval(counting)
    button.disabled = false
    box.className = 'notice'
    box.textContent = labels.ready
    return
  }
  if (seconds <= MANY) box.querySelector('.until')?.remove()
  counter.textContent = seconds
  box.querySelector('.unit').textContent = seconds === 1 ? labels.one : labels.other
}

button.disabled = true
const counting = setInterval(count, 250)
count()
