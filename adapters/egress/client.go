package egress

import (
	"crypto/tls"
	"net/http"

	"github.com/atrium-hq/atrium/domain/connection"
)

// maxRedirects is how often an answer may send a client elsewhere.
const maxRedirects = 3

// Client returns an HTTP client whose every connection, those after a redirect included, goes through
// the dialer. It keeps no connection. Redirects are followed to https alone; net/http leaves out the
// credentials when the host changes. Answers come as they are on the wire, not decompressed, so that
// the rules' bytes bound what is held. roots may be nil, for the machine's.
func (d *Dialer) Client(roots *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // never the environment's
			DialContext:            d.DialContext,
			TLSClientConfig:        roots.Clone(),
			TLSHandshakeTimeout:    d.rules.Connect,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != "https" || len(via) > maxRedirects {
				return connection.NetworkNotAllowed
			}
			return nil
		},
	}
}
