// Package redis signals changed presences to other nodes through Redis, for deployments that have one. PostgreSQL then
// has no NOTIFY, which would serialise its commits. Nothing is stored in Redis.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Config configures the Redis server. The zero Config means none.
type Config struct {
	// URL is redis://user:password@host:port/database, or rediss:// for TLS. It may hold a password.
	URL secret.String
}

// Check calls report with the reason if the URL cannot be used. It opens no connection.
func (c Config) Check(report func(key, reason string)) {
	if c.URL.IsZero() {
		return
	}
	if _, err := parse(c.URL); err != nil {
		report("url", "must be redis://user:password@host:port/database, or rediss:// for TLS; percent-encode special "+
			"characters of the password")
	}
}

const (
	channel = "atrium_presence"

	// A Redis that does not respond must not delay anyone: the nodes poll their store every second anyway.
	patience = 250 * time.Millisecond

	pingInterval = 3 * time.Second
)

// server is where a Redis is and how to log in to it.
type server struct {
	address            string
	tls                *tls.Config // nil without TLS
	username, password string
	database           int

	// A listener pings the server this often, and takes the connection for dead if nothing came for twice that time.
	ping time.Duration
}

var errURL = errors.New("redis.url: it is no URL of a Redis") // an error of url.Parse would quote it

// parse reads a redis: or rediss: URL. Its error never quotes the URL, which can contain a password.
func parse(text secret.String) (server, error) {
	u, err := url.Parse(text.Reveal())
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Opaque != "" || u.RawQuery != "" {
		return server{}, errURL
	}
	s := server{address: net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379")),
		username: u.User.Username(), ping: pingInterval}
	s.password, _ = u.User.Password()
	if database := strings.Trim(u.Path, "/"); database != "" {
		if s.database, err = strconv.Atoi(database); err != nil || s.database < 0 {
			return server{}, errURL
		}
	}
	if u.Scheme == "rediss" {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return s, nil
}

// dial opens a connection and logs in.
func (s server) dial(ctx context.Context) (redis.Conn, error) {
	open := new(net.Dialer).DialContext
	if s.tls != nil {
		open = (&tls.Dialer{Config: s.tls}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, 2*s.ping)
	defer cancel()
	return redis.DialContext(ctx, "tcp", s.address, redis.DialContextFunc(open), redis.DialUsername(s.username),
		redis.DialPassword(s.password), redis.DialDatabase(s.database), redis.DialReadTimeout(2*s.ping),
		redis.DialWriteTimeout(2*s.ping))
}

// Signals announces changed presences with PUBLISH and SUBSCRIBE.
type Signals struct {
	server   server
	pool     *redis.Pool   // of connections that announce
	patience time.Duration // for one announcement
}

var _ ports.PresenceSignals = (*Signals)(nil)

// New returns the signals of a Redis server, which need not be reachable yet, and a function that closes its
// connections.
func New(c Config) (*Signals, func(), error) {
	s, err := parse(c.URL)
	if err != nil {
		return nil, nil, err
	}
	pool := &redis.Pool{DialContext: s.dial, MaxIdle: 1}
	return &Signals{server: s, pool: pool, patience: patience}, func() { _ = pool.Close() }, nil
}

// Announce implements ports.PresenceSignals.
func (s *Signals) Announce(ctx context.Context, org identity.OrgID) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	err := s.publish(ctx, org)
	if err != nil && ctx.Err() == nil { // the server may have closed the idle connection
		err = s.publish(ctx, org)
	}
	return err
}

func (s *Signals) publish(ctx context.Context, org identity.OrgID) error {
	conn, err := s.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = redis.DoContext(conn, ctx, "PUBLISH", channel, string(org))
	return err
}

// Listen implements ports.PresenceSignals. It detects a dead connection by pings. Signals may have been missed before
// each subscription, the first included.
func (s *Signals) Listen(ctx context.Context, heard func(identity.OrgID)) error {
	for {
		s.subscribe(ctx, heard)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(patience):
		}
	}
}

// subscribe listens until its connection fails or ctx ends.
func (s *Signals) subscribe(ctx context.Context, heard func(identity.OrgID)) {
	conn, err := s.server.dial(ctx)
	if err != nil {
		return
	}
	subscription := redis.PubSubConn{Conn: conn}
	var pings sync.WaitGroup
	defer pings.Wait()
	defer func() { _ = subscription.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if subscription.Subscribe(channel) != nil {
		return
	}
	pings.Go(func() {
		ticker := time.NewTicker(s.server.ping)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = subscription.Ping("") // the receiver notices a connection that fails
			}
		}
	})
	for {
		switch m := subscription.ReceiveContext(ctx).(type) {
		case redis.Subscription:
			heard("")
		case redis.Message:
			heard(identity.OrgID(m.Data))
		case error:
			return
		}
	}
}
