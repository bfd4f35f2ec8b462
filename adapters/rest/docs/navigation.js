// What leads readers to an operation: closed areas, a search, and links.

// With this many hits or fewer, a search shows them. With more, it only shows their areas.
const fewHits = 30

// Swagger UI would add an entry to the history for each area and operation that is opened or closed.
history.pushState = (...args) => history.replaceState(...args)

const navigationPlugin = ({ React, getSystem }) => {
  const { createElement: h } = React

  const phrase = () => {
    const filter = getSystem().layoutSelectors.currentFilter()
    return typeof filter === 'string' ? filter.trim() : ''
  }
  // A text matches if it has all words of the phrase.
  const matches = (words, ...texts) => {
    const text = texts.join(' ').toLowerCase()
    return words.toLowerCase().split(/\s+/).every((word) => text.includes(word))
  }
  const webhooks = () => Object.values(getSystem().specSelectors.selectWebhooksOperations()).flat().length
  const operations = () => getSystem().specSelectors.taggedOperations()
    .reduce((n, area) => n + area.get('operations').size, 0)

  function Search({ layoutActions, layoutSelectors }) {
    const words = phrase()
    const hits = operations() + webhooks()
    return h('div', { className: 'atrium-search wrapper' },
      h('label', { htmlFor: 'atrium-search' }, 'Search'),
      h('input', {
        id: 'atrium-search', type: 'search', placeholder: 'A path, a name or words of a summary', autoComplete: 'off',
        value: layoutSelectors.currentFilter() === true ? '' : layoutSelectors.currentFilter(),
        onChange: (e) => layoutActions.updateFilter(e.target.value),
      }),
      h('span', { role: 'status' }, words === '' ? '' : hits === 1 ? '1 hit' : `${hits} hits`))
  }

  return {
    components: { FilterContainer: Search },
    fn: {
      opsFilter: (areas, words) => areas.map((area, tag) => area.update('operations', (list) => list.filter((op) => {
        const [id, summary] = ['operationId', 'summary'].map((name) => op.getIn(['operation', name]))
        return matches(words, tag, op.get('method'), op.get('path'), id, summary)
      }))).filter((area) => area.get('operations').size > 0),
    },
    wrapComponents: {
      // Without hits, Swagger UI would say that the document has no operations.
      operations: (Original) => (props) => operations() === 0 && phrase() !== '' ? null : h(Original, props),
      // The webhooks are an area like the others.
      Webhooks: (Original) => (props) => webhooks() === 0 ? null : h(getSystem().getComponent('OperationTag'), {
        ...props,
        tag: 'webhooks',
        tagObj: getSystem().Im.fromJS({ tagDetails: { description: 'The events that Atrium sends to webhooks.' } }),
      }, h(Original, props)),
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          selectWebhooksOperations: (original) => () => {
            const all = original()
            return phrase() === '' ? all : Object.fromEntries(Object.entries(all).filter(([name, [hook]]) => matches(
              phrase(), 'webhooks', name, hook.operation.getIn(['operation', 'summary']))))
          },
        },
      },
      layout: {
        wrapSelectors: {
          isShown: (original) => (_, key, otherwise) => original(key, otherwise) ||
            key[0] === 'operations-tag' && phrase() !== '' && operations() + webhooks() <= fewHits,
        },
        wrapActions: {
          // Links have _ for the blanks in the name of an area, or %20. No name has a _.
          parseDeepLinkHash: (original) => (hash) => original(hash.replaceAll('_', ' ')),
          // Swagger UI scrolls to what it creates. What is there already is found by its id.
          scrollTo: (original) => (key) => {
            original(key)
            requestAnimationFrame(() => {
              const there = document.getElementById(key.join('-').replaceAll(' ', '_'))
              if (there) getSystem().layoutActions.readyToScroll(key, there)
            })
          },
          // The original moves for half a second, and misses its target if something grows meanwhile.
          scrollToElement: () => (element) => element?.scrollIntoView(),
        },
      },
    },
  }
}

// followLinks opens what a link on the page, or a change of the address, leads to.
const followLinks = (ui) => window.addEventListener('hashchange', () => {
  ui.getSystem().layoutActions.parseDeepLinkHash(decodeURIComponent(location.hash))
})
