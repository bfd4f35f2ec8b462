package presences

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// presenceChannel is the channel of LISTEN and NOTIFY.
const presenceChannel = "atrium_presence"

// Signals announces changed presences with NOTIFY.
type Signals struct {
	db  *Store
	url string
}

var _ ports.PresenceSignals = (*Signals)(nil)

// NewSignals returns the signals of a PostgreSQL database. SQLite needs none, since no other node shares it.
func NewSignals(d *db.DB, c db.Config) *Signals {
	return &Signals{db: NewStore(d), url: engine.PrimaryURL(c.URL.Reveal())}
}

// Announce implements ports.PresenceSignals.
func (s *Signals) Announce(ctx context.Context, org identity.OrgID) error {
	var void string
	_, err := s.db.Get(ctx, &void, `SELECT pg_notify(?, ?)::text`, presenceChannel, string(org))
	return err
}

// Listen implements ports.PresenceSignals. It has its own connection, on which hours may pass without a message. Once
// it is established, it has no deadline, only TCP keep-alives.
func (s *Signals) Listen(ctx context.Context, heard func(identity.OrgID)) error {
	dialer := &listenDialer{
		plain: net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
			Interval: 5 * time.Second, Count: 3}}}
	l := pq.NewDialListener(dialer, s.url, 100*time.Millisecond, 5*time.Second,
		func(event pq.ListenerEventType, _ error) {
			switch event {
			case pq.ListenerEventConnected: // and begins to listen
				dialer.settle()
			case pq.ListenerEventReconnected:
				dialer.settle()
				heard("")
			case pq.ListenerEventDisconnected, pq.ListenerEventConnectionAttemptFailed: // it reconnects
			}
		})
	defer func() {
		dialer.end()
		_ = l.Close()
		go func() { // lib/pq must deliver its pending notifications before it stops
			for range l.NotificationChannel() {
			}
		}()
	}()
	// It waits for the first connection, however long that takes.
	listening := make(chan error, 1)
	go func() { listening <- l.Listen(presenceChannel) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-listening:
			if err != nil {
				return s.db.WrapErr(ctx, err)
			}
			heard("")
		case n, open := <-l.NotificationChannel():
			switch {
			case !open:
				return nil
			case n == nil:
				heard("")
			default:
				heard(identity.OrgID(n.Extra))
			}
		}
	}
}

// listenDialer keeps the connection that lib/pq opens, so that it can be closed. lib/pq reads forever from a connection
// whose peer does not respond, and holds the lock that its Close waits for.
type listenDialer struct {
	plain net.Dialer // not embedded: lib/pq would find its DialContext
	mu    sync.Mutex
	line  net.Conn // the latest
	ended bool
}

// Dial implements pq.Dialer.
func (d *listenDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, engine.ConnectTimeout)
}

// DialTimeout implements pq.Dialer. The same timeout covers everything until the connection can be used.
func (d *listenDialer) DialTimeout(network, address string, _ time.Duration) (net.Conn, error) {
	ends := time.Now().Add(engine.ConnectTimeout)
	ctx, cancel := context.WithDeadline(context.Background(), ends)
	defer cancel()
	line, err := d.plain.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line = line; d.ended {
		_ = line.Close()
		return nil, net.ErrClosed
	}
	return line, line.SetDeadline(ends)
}

// settle removes the deadline from the connection, which can be used now.
func (d *listenDialer) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.line.SetDeadline(time.Time{}) // fails only if it is closed already
}

// end closes the connection, and every connection that is dialled later.
func (d *listenDialer) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended = true; d.line != nil {
		_ = d.line.Close()
	}
}
