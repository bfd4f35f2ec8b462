package egress

import (
	"crypto/tls"
	"net/http"

	"github.com/atrium-hq/atrium/domain/connection"
)

// maxRedirects is the most redirects that a client follows.
const maxRedirects = 3

// Client returns an HTTP client that opens all connections through the dialer, also after redirects. It keeps no
// connection. It follows redirects only to https; net/http drops credentials when the host changes. Responses are
// not decompressed, so that the byte limit of the rules bounds the memory. roots may be nil, for the machine's
// authorities.
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
