// What the scripts of a page can do with the chat that host shows. act does it.
const offer = (host, act) => {
  host.atrium = Object.freeze({
    ...act,
    // Returns what removes the listener again.
    on: (type, listener) => {
      const hear = (e) => listener(e.detail)
      host.addEventListener('atrium:' + type, hear)
      return () => host.removeEventListener('atrium:' + type, hear)
    },
  })
  window.atrium ??= host.atrium
}
