// The page of colleagues: shows what the server tells.
interface Notice {
  kind: 'presence' | 'question' | 'event'
  text: string
}

const byId = (id: string) => document.getElementById(id)!

new EventSource('/feed').onmessage = (message) => {
  const notice = JSON.parse(message.data) as Notice
  if (notice.kind === 'presence') {
    byId('presence').textContent = notice.text
    return
  }
  const line = document.createElement('li')
  line.textContent = notice.text
  byId(`${notice.kind}s`).prepend(line)
}
