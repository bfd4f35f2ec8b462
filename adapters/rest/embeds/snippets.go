package embeds

import (
	"html"
	"net"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// baseURL returns the address of this server for links: the org's canonical one, or else the host of the request.
func (a *handlers) baseURL(r *http.Request) string {
	if base := server.Observed(r).Org.BaseURL; base != "" {
		return base
	}
	host := a.Host(r)
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if ip := net.ParseIP(name); r.TLS == nil && (name == "localhost" || (ip != nil && ip.IsLoopback())) {
		return "http://" + host
	}
	return "https://" + host
}

// snippets are what a site can paste to show a chat.
func snippets(home, token string) openapi.EmbedSnippets {
	src := html.EscapeString(home + "/embed.js")
	tag := func(attributes string) string {
		return `<script src="` + src + `" data-token="` + token + `"` + attributes + `></script>`
	}
	return openapi.EmbedSnippets{
		Script: tag(" async"),
		Module: tag(` type="module"`),
		Frame:  tag(` data-mode="frame" async`),
		React: `import { useEffect, useRef } from 'react'

export function Chat({ visitor, signature }) {
  const place = useRef(null)
  useEffect(() => {
    const script = document.createElement('script')
    script.src = '` + home + `/embed.js'
    script.dataset.token = '` + token + `'
    if (visitor) script.dataset.visitor = visitor
    if (signature) script.dataset.visitorSignature = signature
    const home = place.current
    home.append(script)
    return () => home.replaceChildren()
  }, [visitor, signature])
  return <div ref={place} />
}
`,
	}
}
