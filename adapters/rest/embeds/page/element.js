// Shows a chat in this page. It reads its settings from its own tag:
//   data-token    the embed token that the owner of the chat gave you
//   data-mode     "frame" shows it in a frame; otherwise it becomes a part of the page
//   data-target   a selector: where to show it, if not right behind this tag
//   data-visitor  the visitor, as a text of your choice
//   data-visitor-signature  with which your backend vouches for the visitor
//   data-launcher "bubble" shows a button in the corner that opens the chat
//   data-history  "off" keeps no messages in the browser's storage
//   data-lang     the language of the buttons; otherwise that of the page, or of the visitor's browser
// A script of the page can call window.atrium, the first chat of the page, or the property atrium of the element that
// shows a chat: open(), close(), send(text), on(event, listener) and setVisitor(visitor, signature).
// The element that shows the chat sends events: atrium:ready, with the session; atrium:renewed, with the session that
// replaces it; atrium:starter, with the text that a visitor picked; atrium:message, with what a visitor sent;
// atrium:reply, with the answer; atrium:refused, with the code of the reason.
const make = (name, about, ...children) => {
  const node = Object.assign(document.createElement(name), about)
  node.append(...children)
  return node
}
