// Starts Swagger UI with a panel of sample calls in each operation.

const languages = [['curl', 'curl'], ['typescript', 'TypeScript'], ['go', 'Go'], ['python', 'Python']]

// The language that a reader chose holds for all operations, also after a reload.
const chosen = {
  get: () => {
    try { return localStorage.getItem('atrium_language') || 'curl' } catch { return 'curl' }
  },
  set: (language) => {
    try { localStorage.setItem('atrium_language', language) } catch { /* storage is blocked */ }
    window.dispatchEvent(new CustomEvent('atrium:language', { detail: language }))
  },
}

// samplesPlugin shows the samples of an operation above its responses.
const samplesPlugin = (samples) => (system) => {
  const { createElement: h, useEffect, useState } = system.React

  function Samples({ sample }) {
    const [language, choose] = useState(chosen.get())
    const [copied, setCopied] = useState(false)
    useEffect(() => {
      const follow = (e) => { choose(e.detail); setCopied(false) }
      window.addEventListener('atrium:language', follow)
      return () => window.removeEventListener('atrium:language', follow)
    }, [])
    const text = sample[language] || sample.curl
    return h('div', { className: 'atrium-samples' },
      h('div', { className: 'atrium-samples-bar', role: 'group', 'aria-label': 'Language of the sample' },
        ...languages.map(([key, title]) => h('button', {
          key, type: 'button', 'aria-pressed': key === language, onClick: () => chosen.set(key),
        }, title)),
        h('button', {
          key: 'copy', type: 'button', className: 'atrium-copy',
          onClick: () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false)),
        }, copied ? 'Copied' : 'Copy')),
      h('pre', { tabIndex: 0 }, text))
  }

  return {
    wrapComponents: {
      responses: (Original) => (props) => {
        const id = system.specSelectors.specJson().getIn(['paths', props.path, props.method, 'operationId'])
        const sample = samples[id]
        return sample ? h('div', null, h(Samples, { sample }), h(Original, props)) : h(Original, props)
      },
    },
  }
}

const start = (samples) => {
  window.ui = SwaggerUIBundle({
    url: '/api/openapi.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    docExpansion: 'none', // all operations at once take seconds
    filter: true,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [SwaggerUIBundle.plugins.DownloadUrl, referencesPlugin, samplesPlugin(samples), navigationPlugin],
    layout: 'BaseLayout', // without a bar that loads other documents
    showExtensions: true,
    showCommonExtensions: true,
    defaultModelsExpandDepth: -1,
    validatorUrl: null, // it would send the document elsewhere
  })
  followLinks(window.ui)
}

// Without the samples, the reference is still of use.
fetch('/api/docs/samples.json').then((r) => (r.ok ? r.json() : {})).catch(() => ({})).then(start)
