// Shows a chat in this page. Its attributes, functions and events are described at GET /embed.js in openapi.yaml, and
// what it keeps in the browser in docs/widget.md.
const make = (name, about, ...children) => {
  const node = Object.assign(document.createElement(name), about)
  node.append(...children)
  return node
}
