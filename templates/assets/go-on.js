// Goes on once every app has been told, or one does not answer; without it, people press the button.
const goOn = () => location.replace(document.getElementById('go-on').href)
addEventListener('load', goOn)
setTimeout(goOn, 5000)
