package replier

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

const (
	poolLasts    = 10 * time.Minute // then the name of the endpoint is looked up again
	idleLasts    = time.Minute      // how long a connection waits for the next answer
	idlePerHost  = 8
	maxEndpoints = 256 // whose connections are kept
)

// pool keeps connections to endpoints open after an answer, so that the next one needs no look-up and no handshake. A
// workspace uses only its own. The limits of one answer do not apply to a connection: receive applies them.
type pool struct {
	guard Guard

	mu    sync.Mutex
	known map[endpointKey]*pooled
}

// endpointKey has everything that decides how an endpoint is reached. Each request contains the credential.
type endpointKey struct {
	workspace        identity.WorkspaceID
	kind             connection.Kind
	scheme, host, ca string
	allow            string
	connect          time.Duration
}

type pooled struct {
	*http.Client
	until time.Time
}

func newPool(g Guard) *pool { return &pool{guard: g, known: map[endpointKey]*pooled{}} }

// client returns the client for a request.
func (p *pool) client(target ports.Target, r *http.Request, now time.Time) (*http.Client, error) {
	key := endpointKey{
		workspace: target.Workspace, kind: target.Credential.Kind(), scheme: r.URL.Scheme, host: r.URL.Host,
		ca: target.Credential.Text(connection.FieldTLSCA), allow: fmt.Sprint(target.Egress.Allow),
		connect: target.Limits.Connect,
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.known[key]; found != nil && now.Before(found.until) {
		return found.Client, nil
	}
	expiry := now.Add(poolLasts)
	// longer than any answer
	client, transport, err := p.guard.newClient(target, expiry.Add(time.Hour), math.MaxInt64/2)
	if err != nil {
		return nil, err
	}
	transport.DisableKeepAlives = false
	transport.IdleConnTimeout, transport.MaxIdleConnsPerHost = idleLasts, idlePerHost
	p.forget(now)
	if old := p.known[key]; old != nil {
		old.CloseIdleConnections()
	}
	p.known[key] = &pooled{client, expiry}
	return client, nil
}

// forget closes connections that are too old, or else the oldest ones, to make room for another endpoint.
func (p *pool) forget(now time.Time) {
	var oldest endpointKey
	for key, c := range p.known {
		if !now.Before(c.until) {
			c.CloseIdleConnections()
			delete(p.known, key)
		} else if first := p.known[oldest]; first == nil || c.until.Before(first.until) {
			oldest = key
		}
	}
	if len(p.known) >= maxEndpoints {
		p.known[oldest].CloseIdleConnections()
		delete(p.known, oldest)
	}
}

// limited reads at most left bytes, and then returns ResponseTooLarge.
type limited struct {
	io.Reader
	left int64
}

func (b *limited) Read(buffer []byte) (int, error) {
	if b.left <= 0 {
		return 0, connection.ResponseTooLarge
	}
	n, err := b.Reader.Read(buffer[:min(int64(len(buffer)), b.left)])
	b.left -= int64(n)
	return n, err
}

// drain reads the rest after an answer, usually nothing, so that its connection can be reused.
func drain(body io.Reader, abandon func()) {
	const atMost = 50 * time.Millisecond
	timer := time.AfterFunc(atMost, abandon)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, 4<<10) // otherwise the connection is closed
}
