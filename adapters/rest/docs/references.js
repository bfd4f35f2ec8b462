// Resolves the references of the contract. Swagger UI would parse the whole document into another model for each part
// that it shows, which takes seconds of CPU at the start and for each operation. The contract refers only to its own
// components. docs/adr/0155-keep-swagger-ui.md has the measurements.

const referencesPlugin = () => ({
  fn: {
    resolveSubtree: async (document, path) => {
      const at = (pointer) => pointer.slice('#/'.length).split('/').reduce((node, token) =>
        node?.[token.replaceAll('~1', '/').replaceAll('~0', '~')], document)
      // What refers to itself stays a reference there.
      const resolved = (node, within) => {
        if (Array.isArray(node)) return node.map((item) => resolved(item, within))
        if (node === null || typeof node !== 'object') return node
        const { $ref: pointer, ...own } = node
        if (typeof pointer === 'string') {
          return within.includes(pointer) ? node : resolved({ ...at(pointer), ...own }, [...within, pointer])
        }
        return Object.fromEntries(Object.entries(node).map(([name, member]) => [name, resolved(member, within)]))
      }
      return { spec: resolved(path.reduce((node, name) => node?.[name], document), []), errors: [] }
    },
  },
})
