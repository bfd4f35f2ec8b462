package sqlstore

import (
	"context"
	"net"
	"time"

	"github.com/lib/pq"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// presenceChannel is what LISTEN and NOTIFY name.
const presenceChannel = "atrium_presence"

// PresenceSignals carries word of changed presences by NOTIFY.
type PresenceSignals struct {
	db  *DB
	url string
}

var _ ports.PresenceSignals = (*PresenceSignals)(nil)

// NewPresenceSignals returns the signals of a PostgreSQL database. SQLite, which no other node shares,
// has none.
func NewPresenceSignals(db *DB, c Config) *PresenceSignals {
	return &PresenceSignals{db: db, url: c.URL.Reveal()}
}

// Announce implements ports.PresenceSignals.
func (s *PresenceSignals) Announce(ctx context.Context, org identity.OrgID) error {
	var void string
	_, err := s.db.get(ctx, &void, `SELECT pg_notify(?, ?)::text`, presenceChannel, string(org))
	return err
}

// Listen implements ports.PresenceSignals. It has a connection of its own, on which hours may pass
// without a word: no deadline ends it, but what TCP finds out of a peer that is gone.
func (s *PresenceSignals) Listen(ctx context.Context, heard func(identity.OrgID)) error {
	lost := func(event pq.ListenerEventType, _ error) {
		if event == pq.ListenerEventReconnected {
			heard("")
		}
	}
	dialer := &listenDialer{net.Dialer{Timeout: pgConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}}
	l := pq.NewDialListener(dialer, s.url, 100*time.Millisecond, 5*time.Second, lost)
	defer func() { _ = l.Close() }()
	// Listen waits for the first connection, however long that takes; Close ends it.
	listening := make(chan error, 1)
	go func() { listening <- l.Listen(presenceChannel) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-listening:
			if err != nil {
				return s.db.explain(ctx, err)
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

// listenDialer is a net.Dialer as lib/pq takes it.
type listenDialer struct{ net.Dialer }

// DialTimeout implements pq.Dialer.
func (d *listenDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
